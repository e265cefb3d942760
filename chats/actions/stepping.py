"""What a runner commits while the turn goes on: stream events, a step before its tools, a pause."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.asking.asks import ABSENT, MAX_MESSAGE, Ask
from approvals.asking.transcripts import kept
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Workflow
from approvals.runtime import async_commit, locks
from approvals.runtime.canonical import clean_json
from approvals.states import Kind, Priority
from chats import queries
from chats.actions.keeping import (
    RUNNER,
    Claim,
    Recorded,
    close_call,
    fenced,
    hold_workflow,
    record_result,
    refresh_message,
    ring_after_commit,
    tell_apps,
    write_checkpoint,
    write_events,
)
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.loop import PlannedCall
from chats.agent.provider import ProviderError
from chats.agent.tools import InvalidInput, Question, Tool
from chats.exceptions import StopRequested
from chats.models import Step, ToolCall, Turn
from chats.queries import subagents
from chats.states import CallState, CheckpointKind, FinishReason, TurnState

logger = logging.getLogger(__name__)

CUT_OFF = "The model's answer was cut off in this call, so it was not run."


def append_events(claim: Claim, recorded: Sequence[Recorded]) -> None:
    """Store stream chunks between two commits, for followers in other processes."""
    with transaction.atomic():
        # Lost with the database's power they are written once more, by the step's commit at the latest; where their runner
        # is lost too, the model is asked again.
        async_commit.found_again()
        write_events(fenced(claim), recorded)


def commit_step(
    claim: Claim,
    index: int,
    finished: events.ModelFinished,
    planned: Sequence[PlannedCall],
    recorded: Sequence[Recorded],
    *,
    provider: str,
) -> None:
    """Store a model's whole answer and its calls, before any tool starts. LeaseLost, StopRequested, ProviderError."""
    with transaction.atomic():
        turn = fenced(claim)
        if turn.stopped:
            raise StopRequested
        ids = [call.tool_call_id for call in planned]
        if turn.root_id is not None:
            # Two sub-agents at once could otherwise both find an id unused.
            locks.hold(f"calls of {turn.top.run_id}")
        # Within the conversation at the top, whose namespace in requests and in the record sub-agents share.
        top = turn.chat.root_id or turn.chat_id
        if ToolCall.objects.filter(Q(chat=top) | Q(chat__root=top), tool_call_id__in=ids).exists():
            raise ProviderError(
                _(
                    "The model used the id of an earlier tool call again, so its answer cannot be used. "
                    "Send your message again."
                )
            )
        step = Step.objects.create(
            turn=turn,
            index=index,
            blocks=clean_json(finished.blocks),
            provider=provider,
            model=finished.model,
            stop_reason=finished.stop_reason,
            usage=finished.usage,
        )
        for call in planned:
            _store_call(turn, step, call, cut_off=finished.stop_reason != "tool_use")
        for name, amount in finished.usage.items():
            turn.usage[name] = turn.usage.get(name, 0) + amount
        turn.save(update_fields=["usage"])
        write_events(turn, recorded)
        refresh_message(turn)
        ring_after_commit(turn.chat_id)


def _store_call(turn: Turn, step: Step, planned: PlannedCall, *, cut_off: bool) -> None:
    error = CUT_OFF if cut_off else planned.error_text
    state = CallState.WAITING if planned.needs_person else CallState.READY
    call = ToolCall.objects.create(
        chat_id=turn.chat_id,
        turn=turn,
        step=step,
        tool_call_id=planned.tool_call_id,
        name=planned.name,
        input=clean_json(planned.input),
        state=CallState.FAILED if error else state,
        error_text=error,
        finished_at=timezone.now() if error else None,
    )
    if error:
        record_result(call, actor=None, via=RUNNER)


def pause_turn(claim: Claim, agent: Agent, step: int, recorded: Sequence[Recorded], next_seq: int) -> list[Recorded]:
    """Ask people for every call that waits: requests, checkpoint and suspension in one commit.

    Gives the closing stream events (stored as well); the last is no `TurnPaused` if nothing could be asked, or a sub-agent
    has moved meanwhile, and the turn goes on. LeaseLost, StopRequested.
    """
    with transaction.atomic():
        turn = fenced(claim)
        if turn.stopped:
            raise StopRequested
        asked, closing = ask_all(turn, agent)
        resting = subagents.at_rest(turn)
        if resting:
            closing += [events.StepEnded(step), events.TurnPaused()]
        last = [Recorded(next_seq + offset, step, event) for offset, event in enumerate(closing)]
        write_events(turn, [*recorded, *last])
        if not resting:
            return last
        turn.state, turn.finish_reason, turn.lease_until = TurnState.SUSPENDED, FinishReason.TOOL_CALLS, None
        turn.save(update_fields=["state", "finish_reason", "lease_until"])
        write_checkpoint(turn, refresh_message(turn), CheckpointKind.PARTIAL, FinishReason.TOOL_CALLS)
        tell_apps("turn.suspended", turn, {"requests": [str(request.pk) for request in asked]})
        ring_after_commit(turn.chat_id)
    return last


def ask_all(
    turn: Turn, agent: Agent, *, notes: Mapping[str, str] | None = None
) -> tuple[list[ApprovalRequest], list[events.Event]]:
    """The requests, and what followers are told: approvals that are asked for, and calls that could not be asked about.

    `notes` (Markdown, by toolCallId) are for people, behind what is asked.
    """
    asked: list[ApprovalRequest] = []
    told: list[events.Event] = []
    asks: list[tuple[ToolCall, Ask]] = []
    failed: list[tuple[ToolCall, str]] = []
    # Frozen now: whatever becomes of the chat, people see what was said when they were asked.
    said_before = kept(queries.last_said(turn.chat))
    for call in turn.tool_calls.filter(state__in=[CallState.WAITING, CallState.UNKNOWN]).order_by("id"):
        call.turn = turn
        try:
            asks.append((call, _ask_for(call, agent.tool(call.name))))
        except InvalidInput as error:
            failed.append((call, str(error)))
    workflow = _workflow_of(turn) if asks else None
    # The workflow's lock comes before what a failed call tells: see `desk.hold_workflow`.
    hold_workflow(turn)
    for call, words in failed:
        close_call(call, CallState.FAILED, error_text=words, via=RUNNER)
        told.append(events.ToolFailed(call.tool_call_id, words))
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
            told.append(events.ApprovalRequested(call.tool_call_id, str(request.pk)))
    return asked, told


def _workflow_of(turn: Turn) -> Workflow:
    """The workflow of the turn at the top: what sub-agents ask is asked there."""
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
    )


def _ask_for(call: ToolCall, tool: Tool | None) -> Ask:
    """What to ask a person about a call.

    InvalidInput, in words for the model, if it cannot be asked: the tool has changed since the model called it, or is
    gone, or makes a question that is out of bounds.
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
        problems = "; ".join(f"{name}: {words}" for name, words in error.errors.items())
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
        step_path=[*subagents.path_of(call.turn), call.name],
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
        step_path=[*subagents.path_of(call.turn), call.name],
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
        step_path=[*subagents.path_of(call.turn), call.name],
    )
