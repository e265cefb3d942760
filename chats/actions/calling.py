"""Results of tool calls that arrive when no runner waits for them any more. They are still true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from approvals import actions as desk
from approvals.actions.rulings import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.states import Verdict
from chats.actions import transitions
from chats.actions.attachments import keep_files
from chats.actions.locking import Locked, lock_turn
from chats.actions.resuming import resume_locked
from chats.actions.stepping import Execution, with_files
from chats.actions.writes import lock_workflow, notify_after_commit, store
from chats.models import Attachment
from chats.queries.projection import CallView
from chats.states import CallState, TurnState


def finish_call(
    execution: Execution, *, output: Any = None, error_text: str = "", files: Sequence[Attachment] = ()
) -> bool:
    """Record the result of a run, whoever has its turn; return False if the call has one, or may be running again.

    Fenced by the call's attempt and not by the turn's. A request about the outcome is settled by it. `files` are those that
    the output refers to. BadFile, and nothing is recorded, if the chat has no room for them.
    """
    with transaction.atomic():
        locked = lock_turn(execution.turn_id)
        call = locked.progress.call(execution.tool_call_id) if locked is not None else None
        if locked is None or call is None or call.attempt != execution.attempt or not _awaits_result(call, locked):
            return False
        is_late = call.state != CallState.EXECUTING
        if is_late:
            lock_workflow(locked.turn)
        keep_files(locked.turn.chat, files)
        state = CallState.FAILED if error_text else CallState.SUCCEEDED
        closed = transitions.close(locked.progress, call.tool_call_id, state, output=output, error_text=error_text)
        locked.progress = with_files(closed, files)
        store(locked)
        if is_late:
            if call.recovery_id:
                desk.settle(UUID(call.recovery_id), _answer(output, error_text))
            resume_locked(locked)
        notify_after_commit(locked.turn.chat_id)
    return True


def _awaits_result(call: CallView, locked: Locked) -> bool:
    """Return whether the result of the last run of a call can still be recorded."""
    if call.state == CallState.READY:
        # It is to run again. A runner that has the turn may start it at any moment, because it goes by what it knows.
        return locked.turn.state in {TurnState.SUSPENDED, TurnState.QUEUED}
    return call.state in {CallState.EXECUTING, CallState.UNKNOWN}


def _answer(output: Any, error_text: str) -> Answer:
    """Return what a late result says to the request about the outcome."""
    if error_text:
        return Answer(Verdict.REJECT, f"The tool's own result arrived late: {error_text}"[:MAX_COMMENT])
    return Answer(Verdict.RESPOND, "The tool's own result arrived late.", answer=output)
