"""The requests of chats: the pending ones of a turn, and those of its calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import BigAutoField, QuerySet, Subquery, UUIDField

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.asking.calls import RequestOfCall
from approvals.db.prepared import Parameter, Prepared
from approvals.models import ApprovalRequest
from approvals.queries import UNREAD, with_names
from approvals.states import Kind
from chats.history import pending_approvals, pending_tool_calls
from chats.models import Chat, Step, ToolCall, Turn
from chats.queries import subagents
from chats.queries.projection import tool_part
from chats.queries.steps import call_view
from chats.queries.values import CallView


def open_requests(turn: Turn) -> list[ApprovalRequest]:
    """Return the pending requests of a turn and of the sub-agents below it."""
    return own_open_requests(turn) + [
        request for below in subagents.open_requests(turn).values() for request in below
    ]


def own_open_requests(turn: Turn) -> list[ApprovalRequest]:
    """Return the pending requests of the turn's own calls, in the order of the calls."""
    # Only those of its last step can be open.
    calls = last_calls(turn)
    chain = chain_of(turn, map(call_view, calls))
    waiting = {
        row["toolCallId"]
        for row in [*pending_tool_calls(chain), *pending_approvals(chain)]
    }
    # A recovery asks about the outcome of a call; no part of the message shows it.
    pairs = [
        (call.approval if call.tool_call_id in waiting else None, call.recovery)
        for call in calls
    ]
    # A request may have ended a moment before its call takes the outcome.
    return [
        request
        for pair in pairs
        for request in pair
        if request is not None and request.pending
    ]


def question_for_message(
    viewer: Standing, waiting: Sequence[ApprovalRequest]
) -> ApprovalRequest | None:
    """Return the request that a message of this person answers: the only one, if it is a question that takes free text."""
    if len(waiting) != 1:
        return None
    (request,) = waiting
    in_words = (
        request.kind == Kind.QUESTION and request.allow_text and not request.options
    )
    return request if in_words and permissions.may_answer(viewer, request) else None


def _calls() -> QuerySet[ToolCall]:
    calls = ToolCall.objects.select_related("approval__decision", "recovery")
    return calls.defer(f"approval__{UNREAD}", f"recovery__{UNREAD}").order_by("id")


def _last_calls() -> QuerySet[ToolCall]:
    turn = Parameter("turn", BigAutoField())
    last = Step.objects.filter(turn=turn).order_by("-index").values("index")[:1]
    return _calls().filter(turn=turn, step__index=Subquery(last))


#: The calls of a turn's last step, with their requests.
_LAST_CALLS: Prepared[ToolCall] = Prepared(_last_calls)


def last_calls(turn: Turn) -> list[ToolCall]:
    """Return the calls of a turn's last step with their requests, in order."""
    return _LAST_CALLS.all(turn=turn.pk)


def calls_of(turn: Turn, named: Sequence[str]) -> list[ToolCall]:
    """Return those calls of a turn that have these toolCallIds, with their requests, in order."""
    return list(_calls().filter(turn=turn, tool_call_id__in=named))


def chain_of(turn: Turn, calls: Iterable[CallView]) -> list[dict[str, Any]]:
    """Return calls of a turn as the chain of messages that `chats.history` reads.

    It is built from the rows, because the stored message may be behind them while the turn runs.
    """
    return [
        {
            "id": turn.message_id,
            "role": "assistant",
            "parts": list(map(tool_part, calls)),
        }
    ]


def requests_with_ids(ids: Collection[UUID]) -> list[ApprovalRequest]:
    """Return these requests with the data for counting their votes."""
    rows = ApprovalRequest.objects.select_related("workflow").filter(pk__in=ids)
    return list(rows.defer(UNREAD))


def requests_of(chat: Chat, call_ids: Sequence[str]) -> dict[str, ApprovalRequest]:
    """Return the latest request of each of these calls, by toolCallId."""
    rows = ApprovalRequest.objects.filter(
        scope=chat.scope, tool_call_id__in=call_ids
    ).defer(UNREAD)
    ordered = rows.select_related(
        "decision", "workflow", "requested_by", "assigned_to"
    ).order_by("created_at", "id")
    return {str(request.tool_call_id): request for request in with_names(ordered)}


#: Columns for recording and finding a result, and for notifying its pages.
_FOR_A_RESULT = ("input_digest", "amount_pointer", "secrets", "workflow_id")
_PEOPLE = ("workflow__owner", "requested_by", "assigned_to")
#: The request of a call whose result is recorded.
_OF_CALL: Prepared[Any] = Prepared(
    lambda: ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField())).values_list(
        *_FOR_A_RESULT, *_PEOPLE
    )
)


def request_of(call: CallView) -> RequestOfCall | None:
    """Return the request of a call, with the data for its result; None if there is none."""
    if not call.request_id or call.request is not None:
        return call.request
    row = _OF_CALL.first(pk=call.request_id)
    if row is None:
        return None
    digest, pointer, secrets, workflow_id, *people = row
    return RequestOfCall(
        pk=UUID(call.request_id),
        input=call.input,
        input_digest=digest,
        amount_pointer=pointer,
        secrets=secrets,
        workflow_id=workflow_id,
        people=tuple(people),
    )
