"""Stored steps and tool calls: as views for the projection, and as the history for the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import BigAutoField, CharField, IntegerField, QuerySet

from approvals.asking.calls import RequestOfCall
from approvals.db.prepared import Parameter, Prepared
from approvals.models import ApprovalRequest, Decision
from approvals.states import Door, Kind, Status
from chats.agent.provider import ModelMessage
from chats.models import Message, Step, ToolCall, Turn
from chats.queries.attachments import file_contents
from chats.queries.conversations import user_message, with_turn
from chats.queries.file_parts import file_ids
from chats.queries.projection import result_file_ids
from chats.queries.values import CallView, StepView
from chats.states import CallState

#: Columns of a step, and of a call with the decision about it, in the order of `_step` and `_call`.
_STEP = (
    "pk",
    "turn_id",
    "blocks",
    "provider",
    "model",
    "prefix",
    "stop_reason",
    "stop_details",
    "usage",
    "answered_by",
)
_CALL = (
    "tool_call_id",
    "name",
    "input",
    "state",
    "output",
    "error_text",
    "executed_digest",
    "attempt",
    "recovery_id",
    "approval_id",
)
_ASKED = (
    "recovery__status",
    "approval__kind",
    "approval__status",
    "approval__decision__comment",
    "approval__decision__edited_input",
    "approval__decision__approved_digest",
    "approval__decision__digest_salt",
    "approval__decision__via",
)


def _step_rows(**chosen: Any) -> QuerySet[Step, Any]:
    return (
        Step.objects.filter(**chosen).order_by("turn_id", "index").values_list(*_STEP)
    )


def _call_rows(**chosen: Any) -> QuerySet[ToolCall, Any]:
    return (
        ToolCall.objects.filter(**chosen)
        .order_by("id")
        .values_list("step_id", *_CALL, *_ASKED)
    )


_TURN = Parameter("turn", BigAutoField())
#: The steps of a turn.
_STEPS_OF_TURN: Prepared[Any] = Prepared(lambda: _step_rows(turn=_TURN))
#: The calls of a turn, with the outcomes of their requests.
_CALLS_OF_TURN: Prepared[Any] = Prepared(lambda: _call_rows(turn=_TURN))
#: The calls of one step, with the outcomes of their requests.
_CALLS_OF_STEP: Prepared[Any] = Prepared(
    lambda: _call_rows(turn=_TURN, step__index=Parameter("index", IntegerField()))
)


#: The steps of the turn that answers with a message.
_STEPS_OF_MESSAGE: Prepared[Any] = Prepared(
    lambda: _step_rows(
        turn__chat=Parameter("chat", BigAutoField()),
        turn__message_id=Parameter("message_id", CharField()),
    )
)


def steps_of(turn_id: int) -> tuple[StepView, ...]:
    """Return the steps of a turn with their calls, in order."""
    steps = _STEPS_OF_TURN.all(turn=turn_id)
    return tuple(
        _joined(steps, _CALLS_OF_TURN.all(turn=turn_id) if steps else ())[turn_id]
    )


def calls_of_step(turn_id: int, index: int) -> list[CallView]:
    """Return the calls of one step of a turn, in order."""
    return [
        _call(*columns) for _, *columns in _CALLS_OF_STEP.all(turn=turn_id, index=index)
    ]


def steps_of_message(message: Message) -> tuple[StepView, ...]:
    """Return the steps of the turn that answers with this message; none if there is no such turn."""
    steps = _STEPS_OF_MESSAGE.all(chat=message.chat_id, message_id=message.message_id)
    if not steps:
        return ()
    turn_id = steps[0][1]
    return tuple(_joined(steps, _CALLS_OF_TURN.all(turn=turn_id))[turn_id])


def step_views(turns: Sequence[int]) -> dict[int, list[StepView]]:
    """Return the steps of these turns with their calls, by turn id."""
    return _joined(_step_rows(turn__in=turns), _call_rows(turn__in=turns))


def _joined(steps: Iterable[Any], calls: Iterable[Any]) -> dict[int, list[StepView]]:
    made: dict[int, list[CallView]] = defaultdict(list)
    for step_id, *columns in calls:
        made[step_id].append(_call(*columns))
    views: dict[int, list[StepView]] = defaultdict(list)
    for pk, turn_id, blocks, *columns in steps:
        views[turn_id].append(StepView(blocks, made[pk], *columns))
    return views


def _call(
    tool_call_id: str,
    name: str,
    value: Any,
    state: str,
    output: Any,
    error_text: str,
    executed_digest: str,
    attempt: int,
    recovery_id: UUID | None,
    request_id: UUID | None,
    recovery: str | None,
    kind: str | None,
    status: str | None,
    comment: str | None,
    edited_input: Any,
    approved_digest: str | None,
    digest_salt: str | None,
    via: str | None,
) -> CallView:
    asks_approval = kind == Kind.APPROVAL
    request_status = recovery if state == CallState.UNKNOWN else status
    decided = asks_approval and status != Status.PENDING
    reason = (
        "No one decided before the deadline."
        if asks_approval and status == Status.EXPIRED
        else comment
    )
    return CallView(
        tool_call_id=tool_call_id,
        name=name,
        input=value,
        state=state,
        output=output,
        error_text=error_text,
        approval_id=str(request_id) if asks_approval else "",
        approved=status == Status.APPROVED if decided else None,
        reason=(reason or "") if decided else "",
        edited_input=edited_input if decided else None,
        decided=request_status not in {None, Status.PENDING},
        declined=kind is not None and not asks_approval and status == Status.REJECTED,
        request_id=str(request_id or ""),
        recovery_id=str(recovery_id or ""),
        approved_digest=(approved_digest or "") if decided else "",
        digest_salt=digest_salt if decided else "",
        by_rule=decided and via == Door.RULE,
        executed_digest=executed_digest,
        attempt=attempt,
    )


def call_view(call: ToolCall) -> CallView:
    """Return a call, read with its requests and their decisions, as a value."""
    recovery = call.recovery.status if call.recovery is not None else None
    columns: list[Any] = [
        *(getattr(call, name) for name in _CALL),
        recovery,
        *_about(call.approval),
    ]
    return _call(*columns)


def with_decision(call: CallView, request: ApprovalRequest) -> CallView:
    """Return a call with the decision about its request, which was read with its workflow, as it would be read now."""
    known = [getattr(call, name) for name in _CALL[:-2]]
    columns: list[Any] = [*known, None, request.pk, None, *_about(request)]
    return replace(_call(*columns), request=RequestOfCall.of(request, request.workflow))


def _about(request: ApprovalRequest | None) -> list[Any]:
    """Return the columns of the request of a call, and of the decision about it."""
    if request is None:
        return [None] * 7
    decision = decision_of(request)
    names = ("comment", "edited_input", "approved_digest", "digest_salt", "via")
    return [
        request.kind,
        request.status,
        *(getattr(decision, name, None) for name in names),
    ]


def decision_of(request: ApprovalRequest | None) -> Decision | None:
    """Return the decision of a request; None if it is pending, or if there is no request."""
    return getattr(request, "decision", None)


#: The messages of a chat that are shown.
_SHOWN: Prepared[Message] = Prepared(
    lambda: Message.objects.filter(
        chat=Parameter("chat", BigAutoField()), cut_at=None
    ).order_by("position")
)


def history_before(turn: Turn) -> list[ModelMessage]:
    """Return the chat before this turn, with the message that it answers, in the model's form."""
    shown = [
        message
        for message in _SHOWN.all(chat=turn.chat_id)
        if message.message_id != turn.message_id
    ]
    views: dict[str, list[StepView]] = {}
    if any(message.role == "assistant" for message in shown):
        turns = {
            pk: name
            for pk, name in turn.chat.turns.values_list("pk", "message_id")
            if pk != turn.pk
        }
        views = {turns[pk]: steps for pk, steps in step_views(list(turns)).items()}
    named = [
        file_id
        for message in shown
        if message.role == "user"
        for file_id in file_ids(message.parts)
    ]
    for message in shown:
        named += result_file_ids(views.get(message.message_id, []))
    files = file_contents(turn.chat_id, named)
    history: list[ModelMessage] = []
    question: ModelMessage | None = None
    for message in shown:
        if message.role == "user":
            history += [] if question is None else [question]
            question = user_message(message.parts, files)
        else:
            history = with_turn(
                history, question, views.get(message.message_id, []), files
            )
            question = None
    return history if question is None else [*history, question]
