"""Stored steps and tool calls: as views for the projection, and as the history that the model is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import BigAutoField

from approvals.models import ApprovalRequest, Decision
from approvals.queries import UNREAD
from approvals.runtime.prepared import Parameter, Prepared
from approvals.states import Kind, Status
from chats.agent.provider import ModelMessage
from chats.models import Message, Step, ToolCall, Turn
from chats.queries.attachments import file_contents
from chats.queries.file_parts import file_ids
from chats.queries.projection import CallView, StepView, message_parts, result_file_ids, user_message, with_turn


def step_views(turns: Sequence[int]) -> dict[int, list[StepView]]:
    """Return the steps of these turns with their calls, by turn id."""
    calls: dict[int, list[CallView]] = defaultdict(list)
    rows = ToolCall.objects.filter(turn__in=turns).select_related("approval__decision", "recovery__decision")
    rows = rows.defer(f"approval__{UNREAD}", f"recovery__{UNREAD}")
    for call in rows.order_by("id"):
        calls[call.step_id].append(call_view(call))
    views: dict[int, list[StepView]] = defaultdict(list)
    for step in Step.objects.filter(turn__in=turns).order_by("turn_id", "index"):
        views[step.turn_id].append(step_view(step, calls[step.pk]))
    return views


def step_view(step: Step, calls: Sequence[CallView]) -> StepView:
    return StepView(
        step.blocks,
        calls,
        step.provider,
        step.model,
        step.prefix,
        step.stop_reason,
        step.stop_details,
        step.answered_by.get("container", ""),
    )


def call_view(call: ToolCall) -> CallView:
    """Return a call with the decision about it."""
    asked = call.approval if call.approval is not None and call.approval.kind == Kind.APPROVAL else None
    decided = asked is not None and asked.status != Status.PENDING
    decision = decision_of(asked) if decided else None
    approved = None
    if asked is not None and decided:
        approved = asked.status == Status.APPROVED
    reason = decision.comment if decision is not None else ""
    if asked is not None and asked.status == Status.EXPIRED:
        reason = "Nobody decided before the deadline."
    return CallView(
        tool_call_id=call.tool_call_id,
        name=call.name,
        input=call.input,
        state=call.state,
        output=call.output,
        error_text=call.error_text,
        approval_id=str(asked.pk) if asked is not None else "",
        approved=approved,
        reason=reason,
        edited_input=decision.edited_input if decision is not None else None,
        declined=asked is None and call.approval is not None and call.approval.status == Status.REJECTED,
    )


def decision_of(request: ApprovalRequest | None) -> Decision | None:
    """Return the decision of a request; None if it is pending, or if there is no request."""
    return getattr(request, "decision", None)


_SHOWN: Prepared[Message] = Prepared(
    lambda: Message.objects.filter(chat=Parameter("chat", BigAutoField()), cut_at=None).order_by("position")
)


def history_before(turn: Turn) -> list[ModelMessage]:
    """Return the chat before this turn, with the message that it answers, as the model is shown it."""
    shown = [message for message in _SHOWN.all(chat=turn.chat_id) if message.message_id != turn.message_id]
    views: dict[str, list[StepView]] = {}
    if any(message.role == "assistant" for message in shown):
        turns = {pk: name for pk, name in turn.chat.turns.values_list("pk", "message_id") if pk != turn.pk}
        views = {turns[pk]: found for pk, found in step_views(list(turns)).items()}
    named = [found for message in shown if message.role == "user" for found in file_ids(message.parts)]
    for message in shown:
        named += result_file_ids(views.get(message.message_id, []))
    files = file_contents(turn.chat_id, named)
    history: list[ModelMessage] = []
    asked: ModelMessage | None = None
    for message in shown:
        if message.role == "user":
            history += [] if asked is None else [asked]
            asked = user_message(message.parts, files)
        else:
            history = with_turn(history, asked, views.get(message.message_id, []), files)
            asked = None
    return history if asked is None else [*history, asked]


def tool_parts_of(turn: Turn) -> dict[str, dict[str, Any]]:
    """Return the tool parts of the turn's message, by toolCallId."""
    parts = message_parts(step_views([turn.pk])[turn.pk])
    return {part["toolCallId"]: part for part in parts if "toolCallId" in part}
