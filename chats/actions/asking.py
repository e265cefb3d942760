"""Ask people about the calls of a turn: questions, approvals, and recoveries of calls whose outcome is unknown."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.utils import timezone

from approvals import actions as desk
from approvals.asking.answers import ABSENT
from approvals.asking.asks import MAX_MESSAGE, Ask
from approvals.asking.transcripts import KEPT_CHARACTERS, fit_messages
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Door, Kind, Priority, Status
from chats import queries
from chats.actions import transitions
from chats.actions.locking import LockedTurn
from chats.actions.writes import Signed, lock_workflow
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.tools import InvalidInput, Question, Tool
from chats.models import Turn
from chats.queries import Progress, projection, subagents
from chats.queries.values import CallView
from chats.states import CallState

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AskedRequests:
    """The pending requests about a turn's calls, the stream events about them and about ended calls, and by toolCallId the
    people who ended the latter.
    """

    requests: Sequence[ApprovalRequest]
    events: Sequence[events.Event]
    signed: Mapping[str, Signed]


def ask_people(
    locked: LockedTurn, agent: Agent, *, notes: Mapping[str, str] | None = None
) -> AskedRequests:
    """Create a request for every waiting call of a locked turn; the caller stores the turn.

    Calls that cannot be asked about fail. `notes` (Markdown, by toolCallId) are added to the requests' messages.
    """
    turn = locked.turn
    asks, progress, reported = _asks_of(locked, agent)
    # The workflow is locked before a failed call enqueues its event: see `desk.lock_workflow`.
    workflow = (
        _workflow_of(turn, new=has_asked_nothing(locked, agent))
        if asks
        else lock_workflow(turn)
    )
    said_before: list[dict[str, str]] = []
    if asks:
        # Stored with the request, so that later changes of the chat do not change the displayed conversation.
        before = _texts_before(turn, progress)
        progress = replace(progress, texts_before=before)
        words = projection.last_words(locked.progress.steps, KEPT_CHARACTERS)
        said_before = fit_messages([*before, ("assistant", words)])
    requests: dict[str, ApprovalRequest] = {}
    for call_id, ask in asks.items():
        assert workflow is not None
        message = _with_note(ask.message, (notes or {}).get(call_id, ""))
        requests[call_id] = desk.request_approval(
            workflow,
            replace(ask, said_before=said_before, message=message),
            requested_by=turn.chat.owner,
            key_made_by_id=turn.top.chat.key_made_by_id,
        )
    approvals = {
        call_id
        for call_id, request in requests.items()
        if request.kind == Kind.APPROVAL
    }
    waiting = [request for request in requests.values() if request.pending]
    denied = {
        call_id
        for call_id, request in requests.items()
        if request.status == Status.REJECTED
    }
    # Also for approved calls: AI SDK clients send nothing before each call of the step has an answer. And for denied calls,
    # because to clients a denial answers a request.
    announced = approvals if waiting else denied
    reported += (
        events.ApprovalRequested(call_id, str(request.pk), votes=request.takes_votes)
        for call_id, request in requests.items()
        if call_id in announced
    )
    ids = {call_id: str(request.pk) for call_id, request in requests.items()}
    locked.progress = transitions.ask(progress, ids, approvals)
    for call_id, request in requests.items():
        if not request.pending:
            reported += _apply_decision(locked, call_id, request)
    return AskedRequests(
        waiting, reported, dict.fromkeys(denied, (None, Door.RULE.value))
    )


def _asks_of(
    locked: LockedTurn, agent: Agent
) -> tuple[dict[str, Ask], Progress, list[events.Event]]:
    """Return what to ask about the waiting calls, and the turn with those failed that people cannot be asked about."""
    progress = locked.progress
    path = subagents.call_path(locked.turn)
    asks: dict[str, Ask] = {}
    failed: list[events.Event] = []
    for call in locked.progress.calls:
        if call.state not in {CallState.WAITING, CallState.UNKNOWN}:
            continue
        call_id = call.tool_call_id
        try:
            ask = _ask_for(call, agent.tool(call.name), [*path, call.name])
            asks[call_id] = replace(ask, trace=locked.turn.top.trace)
        except InvalidInput as error:
            text = str(error)
            progress = transitions.close(
                progress, call_id, CallState.FAILED, error_text=text
            )
            failed.append(events.ToolFailed(call_id, text))
    return asks, progress, failed


def _texts_before(turn: Turn, progress: Progress) -> Sequence[tuple[str, str]]:
    known = progress.texts_before
    return queries.texts_before(turn.chat, turn.message_id) if known is None else known


def _with_note(message: str, note: str) -> str:
    return f"{message[: MAX_MESSAGE - len(note) - 2]}\n\n{note}" if note else message


def _apply_decision(
    locked: LockedTurn, call_id: str, request: ApprovalRequest
) -> list[events.Event]:
    """Apply the decision of a grant or rule made when a request was stored: the turn does not pause for it."""
    decision = request.decision
    if request.status == Status.APPROVED:
        locked.progress = transitions.approve_unasked(
            locked.progress,
            call_id,
            decision.approved_digest,
            decision.digest_salt,
            by_rule=decision.by_rule,
        )
        return []
    locked.progress = transitions.deny_unasked(
        locked.progress, call_id, decision.comment
    )
    return [events.ToolDenied(call_id)]


def has_asked_nothing(locked: LockedTurn, agent: Agent) -> bool:
    """Return whether neither a turn nor its sub-agents can have asked anyone, so that there is no workflow yet."""
    has_sub_agents = any(tool.agent is not None for tool in agent.tools)
    # A turn does not pause for decisions by a grant or a rule.
    has_asked = any(
        call.request_id for step in locked.progress.steps for call in step.calls
    )
    return (
        locked.never_paused
        and locked.turn.root_id is None
        and not has_sub_agents
        and not has_asked
    )


def _workflow_of(turn: Turn, *, new: bool) -> Workflow:
    """Open the workflow of the top turn, to which its sub-agents' requests belong too."""
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


def _ask_for(call: CallView, tool: Tool | None, path: list[str]) -> Ask:
    """Return the request to make about a call.

    Raise InvalidInput, with a text for the model, if the tool has changed since the call, is gone, or makes an invalid question.
    """
    if call.state == CallState.UNKNOWN:
        return _recovery(call, path)
    if tool is None:
        raise InvalidInput(f"There is no longer a tool named {call.name!r}.")
    value = tool.validate(call.input)
    try:
        ask = (
            _approval(call, tool, path)
            if tool.ask is None
            else _question(call, tool.ask(value), path)
        )
        ask.check()
    except Invalid as error:
        problems = "; ".join(
            f"{name}: {problem}" for name, problem in error.errors.items()
        )
        raise InvalidInput(
            f"{call.name} cannot be asked like this. {problems}"
        ) from error
    except Exception as error:
        logger.exception(
            "Tool %s could not make its question (call %s)",
            call.name,
            call.tool_call_id,
        )
        raise InvalidInput(
            f"{call.name} could not make its question. The server's log has the details."
        ) from error
    return ask


def _question(call: CallView, question: Question, path: list[str]) -> Ask:
    deadline = (
        timezone.now() + timedelta(milliseconds=question.timeout_ms)
        if question.timeout_ms > 0
        else None
    )
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
        step_path=path,
    )


def _approval(call: CallView, tool: Tool, path: list[str]) -> Ask:
    return Ask(
        kind=Kind.APPROVAL,
        title=f"Run {call.name}?",
        message=tool.description[:2000],
        tool_name=call.name,
        tool_call_id=call.tool_call_id,
        input=call.input,
        response_schema=tool.input_schema,
        priority=Priority(tool.priority),
        deadline_at=timezone.now() + timedelta(seconds=tool.deadline)
        if tool.deadline
        else None,
        step_path=path,
    )


def _recovery(call: CallView, path: list[str]) -> Ask:
    return Ask(
        kind=Kind.RECOVERY,
        title=f"Did {call.name} happen?",
        message=(
            f"{call.name} was started, but its outcome is unknown: it took too long, or the server went down. "
            "Check whether it happened. Approve to run it again, answer with its output if it succeeded, or "
            "reject if it failed and should not run again."
        ),
        tool_name=call.name,
        tool_call_id=call.tool_call_id,
        attempt=call.attempt,
        input=call.input,
        priority=Priority.HIGH,
        step_path=path,
    )
