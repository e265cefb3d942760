"""Sub-agents: the turns that carry out calls, and their requests to people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import BigAutoField, Q, QuerySet

from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import ApprovalRequest
from approvals.states import Status
from chats.models import Chat, ToolCall, Turn
from chats.states import CallState


def delegated(turn: Turn) -> list[tuple[ToolCall, Turn]]:
    """Return the delegated calls of a turn, each with the turn of the sub-agent."""
    below = Turn.objects.filter(
        parent_call__turn=turn, parent_call__state=CallState.DELEGATED
    )
    turns = below.select_related("parent_call", "chat").order_by("parent_call", "id")
    return [(each.parent_call, each) for each in turns if each.parent_call is not None]


def _ids_of_family(**named: Any) -> QuerySet[ToolCall, str]:
    """Return the ids of calls in the top chat and in the chats of all sub-agents below it, including removed messages."""
    family = Chat.objects.filter(Q(pk=_TOP) | Q(root=_TOP))
    return ToolCall.objects.filter(chat__in=family, **named).values_list(
        "tool_call_id", flat=True
    )


_TOP = Parameter("top", BigAutoField())
#: The ids of all calls of a chat and of the chats below it.
_USED: Prepared[str] = Prepared(_ids_of_family)
#: One of these ids, if a call of a chat or of the chats below it has it.
_USED_OF: Prepared[str] = Prepared(
    lambda: _ids_of_family(tool_call_id__in=any_of(Parameter("ids", Values()), str))[:1]
)


def used_call_ids(turn: Turn) -> set[str]:
    """Return the toolCallIds that a new call of a turn must not have."""
    return set(_USED.all(top=turn.chat.root_id or turn.chat_id))


def is_any_id_used(turn: Turn, ids: Collection[str]) -> bool:
    """Return whether a new call of a turn must not have one of these toolCallIds."""
    return _USED_OF.first(top=turn.chat.root_id or turn.chat_id, ids=ids) is not None


def call_path(turn: Turn) -> list[str]:
    """Return the names of the calls that lead to a sub-agent's turn, from the top; [] for the top turn."""
    path: list[str] = []
    call = turn.parent_call
    while call is not None:
        path.insert(0, call.name)
        call = call.turn.parent_call
    return path


#: The turns below a turn.
_FAMILY: Prepared[Turn] = Prepared(
    lambda: Turn.objects.filter(root=Parameter("root", BigAutoField())).select_related(
        "parent_call"
    )
)


def open_requests(turn: Turn) -> dict[str, list[ApprovalRequest]]:
    """Return the pending requests of the sub-agents below a turn, by the toolCallId of the turn's own call."""
    family = {each.pk: each for each in _FAMILY.all(root=turn.root_id or turn.pk)}
    leads = {
        pk: lead
        for pk in family
        if (lead := _leading_call(turn, pk, family)) is not None
    }
    requests: dict[str, list[ApprovalRequest]] = {}
    for call in _waiting_calls(list(leads)):
        request = call.recovery if call.state == CallState.UNKNOWN else call.approval
        if request is not None and request.status == Status.PENDING:
            requests.setdefault(leads[call.turn_id], []).append(request)
    return requests


def _leading_call(turn: Turn, pk: int, family: Mapping[int, Turn]) -> str | None:
    """Return the toolCallId of the call of `turn` that leads to another turn; None if none does."""
    each = family.get(pk)
    while each is not None and each.parent_call is not None:
        if each.parent_call.turn_id == turn.pk:
            return each.parent_call.tool_call_id
        each = family.get(each.parent_call.turn_id)
    return None


def _waiting_calls(turns: Sequence[int]) -> Sequence[ToolCall]:
    if not turns:
        return []
    relations = ("decision", "workflow", "requested_by", "assigned_to")
    joined = [
        f"{which}__{name}" for which in ("approval", "recovery") for name in relations
    ]
    waiting = ToolCall.objects.filter(
        turn__in=turns, state__in=[CallState.WAITING, CallState.UNKNOWN]
    )
    return list(waiting.select_related(*joined).order_by("id"))


def conversations(chat_pk: int, call_ids: Sequence[str]) -> dict[str, int]:
    """Return the ids of the chats of the sub-agents to which these calls were delegated, by toolCallId."""
    if not call_ids:
        return {}
    below = Turn.objects.filter(
        parent_call__chat=chat_pk, parent_call__tool_call_id__in=call_ids
    )
    return dict(below.order_by("id").values_list("parent_call__tool_call_id", "chat"))


def parent_chat(chat: Chat) -> Chat | None:
    """Return the chat whose agent started this sub-agent's chat; None for a chat that a person started."""
    if chat.root_id is None:
        return None
    return Chat.objects.filter(tool_calls__children__chat=chat).first()
