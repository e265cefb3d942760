"""Store what has happened to a turn: the one place that turns the difference of two values into rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals import actions as desk
from approvals.asking.digests import salt_of
from approvals.db.input_digest import input_digest
from approvals.models.actors import Signatory
from approvals.outbound import outbox
from approvals.record import audit
from approvals.states import Door
from chats import queries
from chats.actions import rows
from chats.actions.locking import Locked
from chats.actions.transitions import changes
from chats.exceptions import LeaseLost
from chats.models import Turn
from chats.queries.values import CallView, StepView
from chats.states import CLOSED, CallState

RUNNER = Door.SYSTEM.value
#: Who closed a call, and the door through which they did (`via`).
Signed = tuple[Signatory | None, str]
BY_RUNNER: Signed = (None, RUNNER)


def store(locked: Locked, signed: Mapping[str, Signed] | None = None) -> None:
    """Write what has happened to a locked turn: its new steps, its calls, and the audit entry of each result.

    `signed` says by toolCallId who closed a call, if it was not the turn's runner. A caller that also asks people has locked the
    workflow.
    """
    turn, difference = locked.turn, changes(locked.stored, locked.progress)
    for index, step in enumerate(difference.steps, difference.first):
        _add_step(locked, index, step)
    for call in difference.calls:
        _change_call(turn, call)
    locked.stored = locked.progress
    for call in difference.closed:
        by, via = (signed or {}).get(call.tool_call_id, BY_RUNNER)
        record_result(locked, call, actor=by, via=via)


def _add_step(locked: Locked, index: int, step: StepView) -> None:
    turn = locked.turn
    row = rows.STEP.row(
        turn_id=turn.pk,
        index=index,
        blocks=step.blocks,
        provider=step.provider,
        model=step.model,
        stop_reason=step.stop_reason,
        stop_details=step.stop_details,
        prefix=step.prefix,
        usage=step.usage,
        answered_by=step.answered_by,
        # Not the time of this write: the requests about its calls are stored before it.
        created_at=locked.at,
    )
    assert row is not None
    if index == 0 and step.is_shown:
        rows.MESSAGE.row(chat_id=turn.chat_id, message_id=turn.message_id, role="assistant", parts=[])
    named = {"chat_id": turn.chat_id, "turn_id": turn.pk, "step_id": row[0]}
    if step.calls:
        rows.CALL.rows([named | _new_call(call, locked.at) for call in step.calls])


def _new_call(call: CallView, at: datetime) -> dict[str, Any]:
    columns = _state_of(call)
    return {
        "tool_call_id": call.tool_call_id,
        "name": call.name,
        "input": call.input,
        "approval_id": columns.pop("approval"),
        "recovery_id": columns.pop("recovery"),
        **columns,
        "started_at": at if call.attempt else None,
        "finished_at": at if call.state in CLOSED else None,
    }


def _change_call(turn: Turn, call: CallView) -> None:
    """Store a call that has changed. LeaseLost if its row was closed after the turn was read."""
    columns = {"chat": turn.chat_id, "tool_call_id": call.tool_call_id} | _state_of(call)
    match call.state:
        case CallState.EXECUTING | CallState.DELEGATED:
            changed = rows.START_CALL.run(**columns, started_at=timezone.now())
        case CallState.READY if not call.attempt:
            # Its runner gave it back before it ran.
            changed = rows.START_CALL.run(**columns, started_at=None)
        case _ if call.state in CLOSED:
            changed = rows.CLOSE_CALL.run(**columns, finished_at=timezone.now())
        case _:
            changed = rows.CHANGE_CALL.run(**columns)
    if not changed:
        raise LeaseLost(
            f"call {call.tool_call_id} of turn {turn.pk} was closed by a process that does not count its changes"
        )


def _state_of(call: CallView) -> dict[str, Any]:
    """Return the columns of a call that change."""
    return {
        "state": call.state,
        "attempt": call.attempt,
        "approval": call.request_id or None,
        "recovery": call.recovery_id or None,
        "output": call.output,
        "error_text": call.error_text,
        "executed_digest": call.executed_digest,
    }


def unasked_salt(turn: Turn, call: CallView) -> str:
    """Return the salt in the digests of a call that nobody was asked about, so that no request says what is hidden of it."""
    return salt_of(f"call {turn.chat_id} {call.tool_call_id}")


def record_result(locked: Locked, call: CallView, *, actor: Signatory | None, via: str) -> None:
    """Record the one `tool.result` audit entry of a call; a repetition is only counted."""
    turn = locked.turn
    request = queries.request_of(call)
    digest = input_digest(call.input, salt=unasked_salt(turn, call)) if request is None else request.input_digest
    result = desk.ToolResult(
        state=call.state,
        input=call.input,
        input_digest=digest,
        executed_digest=call.executed_digest,
        output=call.output,
        error_text=call.error_text,
        executions=call.attempt,
    )
    event = _event_data(turn) | {"tool_name": call.name}
    subject = audit_subject(turn, call)
    desk.record_tool_result(result, subject, event=event, actor=actor, via=via, request=request)


def enqueue_event(event: str, locked: Locked, data: dict[str, Any]) -> None:
    """Put an event of a locked turn into the outbox."""
    turn = locked.turn
    stream = outbox.stream_of(turn.chat.scope, str(turn.top.run_id))
    outbox.enqueue(event, stream=stream, data=_event_data(turn) | data, heard=locked.heard)


def _event_data(turn: Turn) -> dict[str, Any]:
    """Return the data that all events of a turn have."""
    return {
        "run_id": str(turn.top.run_id),
        "thread_id": turn.top.chat.public_id,
        "agent": turn.agent,
        "message_id": turn.message_id,
    }


def audit_subject(turn: Turn, call: CallView | None = None) -> audit.Subject:
    """Return what an audit entry about a turn, or about one of its calls, refers to."""
    return audit.Subject(
        scope=turn.chat.scope,
        run_id=str(turn.top.run_id),
        request_id=call.request_id or None if call is not None else None,
        thread_id=turn.top.chat.public_id,
        agent=turn.agent,
        tool_name=call.name if call is not None else "",
        tool_call_id=call.tool_call_id if call is not None else "",
    )
