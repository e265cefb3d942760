"""Ask people about the calls of a turn: questions, approvals, and recoveries of calls whose outcome is unknown."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from approvals import actions as desk
from approvals.asking.answers import ABSENT
from approvals.asking.asks import MAX_MESSAGE, Ask
from approvals.asking.transcripts import fit_messages
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Kind, Priority
from chats import queries
from chats.actions.writes import RUNNER, close_call, lock_workflow
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.tools import InvalidInput, Question, Tool
from chats.models import ToolCall, Turn
from chats.queries import Progress, projection, subagents
from chats.states import CallState

logger = logging.getLogger(__name__)


def ask_people(
    turn: Turn,
    agent: Agent,
    *,
    notes: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    never_asked: bool = False,
) -> tuple[list[ApprovalRequest], list[events.Event]]:
    """Create a request for every waiting call; return the requests, and the stream events about them.

    Calls that cannot be asked about fail. `notes` (Markdown, by toolCallId) are added to the requests' messages. The calls
    are read unless the turn's progress is given. `never_asked` says that the turn is known to have asked nothing yet.
    """
    asked: list[ApprovalRequest] = []
    reported: list[events.Event] = []
    asks: list[tuple[ToolCall, Ask]] = []
    failed: list[tuple[ToolCall, str]] = []
    # Stored with the request, so that later changes of the chat do not change what people see.
    views = progress.views if progress is not None else queries.steps_of(turn).views
    shown = projection.message_parts(views)
    said_before = fit_messages(queries.last_texts(turn.chat, turn.message_id, shown))
    for call in _waiting_calls(turn, progress):
        try:
            asks.append((call, _ask_for(call, agent.tool(call.name))))
        except InvalidInput as error:
            failed.append((call, str(error)))
    workflow = _workflow_of(turn, new=never_asked and turn.root_id is None) if asks else None
    if failed:
        # The workflow is locked before a failed call enqueues its event: see `desk.lock_workflow`.
        lock_workflow(turn)
    for call, error_text in failed:
        close_call(call, CallState.FAILED, error_text=error_text, via=RUNNER)
        reported.append(events.ToolFailed(call.tool_call_id, error_text))
    for call, ask in asks:
        assert workflow is not None
        ask = replace(ask, said_before=said_before)
        if note := (notes or {}).get(call.tool_call_id):
            ask = replace(ask, message=f"{ask.message[: MAX_MESSAGE - len(note) - 2]}\n\n{note}")
        request = desk.request_approval(workflow, ask, requested_by=turn.chat.owner)
        field = "recovery" if ask.kind == Kind.RECOVERY else "approval"
        setattr(call, field, request)
        call.save(update_fields=[field])
        asked.append(request)
        if request.kind == Kind.APPROVAL:
            reported.append(events.ApprovalRequested(call.tool_call_id, str(request.pk)))
    return asked, reported


def _waiting_calls(turn: Turn, progress: Progress | None) -> list[ToolCall]:
    if progress is not None:
        return [call for call in progress.calls if call.state == CallState.WAITING]
    calls = list(turn.tool_calls.filter(state__in=[CallState.WAITING, CallState.UNKNOWN]).order_by("id"))
    for call in calls:
        call.turn = turn
    return calls


def _workflow_of(turn: Turn, *, new: bool) -> Workflow:
    """Open the workflow of the turn at the top, to which the requests of its sub-agents belong too."""
    chat = turn.top.chat
    return desk.open_workflow(
        scope=chat.scope,
        key=str(turn.top.run_id),
        title=chat.title or "Chat",
        source=turn.top.source,
        owner=chat.owner,
        agent=turn.top.agent,
        thread_id=chat.public_id,
        thread_url=chat.get_absolute_url(),
        new=new,
    )


def _ask_for(call: ToolCall, tool: Tool | None) -> Ask:
    """Return what to ask a person about a call.

    Raises InvalidInput, with a text for the model, if the tool has changed since the call, is gone, or makes an invalid
    question.
    """
    if call.state == CallState.UNKNOWN:
        return _recovery(call)
    if tool is None:
        raise InvalidInput(f"There is no tool named {call.name!r} any more.")
    value = tool.validate(call.input)
    try:
        ask = _approval(call, tool) if tool.ask is None else _question(call, tool.ask(value))
        ask.check()
    except Invalid as error:
        problems = "; ".join(f"{name}: {problem}" for name, problem in error.errors.items())
        raise InvalidInput(f"{call.name} cannot be asked like this. {problems}") from error
    except Exception as error:
        logger.exception("Tool %s could not make its question (call %s)", call.name, call.tool_call_id)
        raise InvalidInput(f"{call.name} could not make its question. The server's log has the details.") from error
    return ask


def _question(call: ToolCall, question: Question) -> Ask:
    deadline = timezone.now() + timedelta(milliseconds=question.timeout_ms) if question.timeout_ms > 0 else None
    return Ask(
        kind=Kind.QUESTION,
        title=question.title,
        message=question.message,
        tool_name=call.name,
        tool_call_id=call.tool_call_id,
        input=call.input,
        response_schema=question.response_schema,
        options=question.options,
        multiple=question.multiple,
        allow_text=question.allow_text,
        field_name=question.field_name,
        suggestions=question.suggestions,
        context=question.context,
        priority=Priority(question.priority),
        deadline_at=deadline,
        default_response=question.default if question.has_default else ABSENT,
        step_path=[*subagents.call_path(call.turn), call.name],
    )


def _approval(call: ToolCall, tool: Tool) -> Ask:
    return Ask(
        kind=Kind.APPROVAL,
        title=f"Run {call.name}?",
        message=tool.description[:2000],
        tool_name=call.name,
        tool_call_id=call.tool_call_id,
        input=call.input,
        response_schema=tool.input_schema,
        priority=Priority(tool.priority),
        deadline_at=timezone.now() + timedelta(seconds=tool.deadline) if tool.deadline else None,
        step_path=[*subagents.call_path(call.turn), call.name],
    )


def _recovery(call: ToolCall) -> Ask:
    return Ask(
        kind=Kind.RECOVERY,
        title=f"Did {call.name} happen?",
        message=(
            f"{call.name} was started and its outcome is not known: it took too long, or the server went down. "
            "Look it up where it would show. Approve to run it again, answer with its output if it was done, "
            "reject if it failed and should not be run again."
        ),
        tool_name=call.name,
        tool_call_id=call.tool_call_id,
        attempt=call.attempt,
        input=call.input,
        priority=Priority.HIGH,
        step_path=[*subagents.call_path(call.turn), call.name],
    )
