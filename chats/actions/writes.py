"""Writes shared by several actions: stream events, messages, checkpoints, new turns, notifications.

`store` is the only place that turns the difference of two values of a turn into rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from secrets import token_hex
from typing import Any

from django.db.models import BigAutoField, CharField
from django.utils import timezone

from approvals import actions as desk
from approvals.asking.digests import input_digest, salt_of
from approvals.db.prepared import Parameter, Prepared
from approvals.db.prepared_writes import Write, write_together
from approvals.db.transactions import after_commit
from approvals.json_types import JsonDict
from approvals.models import Workflow
from approvals.models.actors import Signatory
from approvals.outbound import outbox
from approvals.record import audit
from approvals.states import Door
from chats import checkpoints, doorbell, queries
from chats.actions import rows
from chats.actions.locking import LockedTurn, Recorded
from chats.actions.transitions import changes
from chats.agent import events
from chats.exceptions import LeaseLost
from chats.models import Turn, TurnCheckpoint
from chats.queries.projection import canonical_parts
from chats.queries.values import CallView, StepView
from chats.states import CLOSED, CallState, CheckpointKind, FinishReason


def lock_workflow(turn: Turn) -> Workflow | None:
    """Lock the workflow of a turn and its sub-agents, if it exists: after the turns, and before any event is enqueued."""
    return desk.lock_workflow(scope=turn.top.chat.scope, key=str(turn.top.run_id))


def number_events(
    next_seq: int, step: int, unnumbered: Sequence[events.Event]
) -> list[Recorded]:
    """Return events of a step with their positions, from `next_seq` on."""
    return [
        Recorded(next_seq + offset, step, event)
        for offset, event in enumerate(unnumbered)
    ]


def write_events(locked: LockedTurn, recorded: Sequence[Recorded]) -> None:
    """Store the events that are not in the database yet.

    `recorded` is everything since the runner's last synchronous commit. A database crash loses only the latest asynchronous
    commits, so the missing events are those after the last stored one.
    """
    turn = locked.turn
    stored: list[JsonDict] = []
    for pieces in _by_row(item for item in recorded if item.seq > locked.last_seq):
        chunk = events.pieces_to_json([item.event for item in pieces])
        last = pieces[-1]
        stored.append(
            {
                "turn_id": turn.pk,
                "seq": last.seq,
                "attempt": turn.attempt,
                "step": last.step,
                "chunk": chunk,
            }
        )
    if stored:
        rows.EVENT.rows(stored)


def _by_row(recorded: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    """Yield the events for each row: pieces of one text together, because a model streams each word as an event."""
    pieces: list[Recorded] = []
    for item in recorded:
        if pieces and not (
            item.seq == pieces[-1].seq + 1
            and item.step == pieces[-1].step
            and events.is_piece_of(item.event, pieces[-1].event)
        ):
            yield pieces
            pieces = []
        pieces.append(item)
    if pieces:
        yield pieces


def new_message(turn: Turn, **values: Any) -> Write:
    """Return the write that adds a turn's message to its chat."""
    return rows.MESSAGE.of_row(
        chat_id=turn.chat_id,
        message_id=turn.message_id,
        role="assistant",
        **{"parts": [], **values},
    )


def store_message(turn: Turn, parts: list[JsonDict], metadata: JsonDict) -> Write:
    """Return the write of an ended turn's parts. Until then they are not stored, because each write would copy them all."""
    return rows.STORE_MESSAGE.of(
        chat=turn.chat_id, named=turn.message_id, parts=parts, metadata=metadata
    )


def new_checkpoint(
    turn: Turn,
    parts: list[JsonDict],
    kind: CheckpointKind,
    reason: FinishReason,
    *,
    steps: Sequence[StepView] = (),
    is_first: bool = False,
    last: checkpoints.Last | None = None,
) -> tuple[Write, checkpoints.Last]:
    """Return the write of the message's parts as the turn's next checkpoint, and that checkpoint.

    `is_first`: it is known to have none.

    `last` is the one before, if known. `steps` are those whose canonical form a runner may already know.
    """
    if last is None and not is_first:
        last = _last_checkpoint(turn)
    kept, tail = _since(turn, last, parts)
    ordinal = 0 if last is None else last.ordinal + 1
    salt = token_hex(16)
    write = rows.CHECKPOINT.of_row(
        chat_pk=turn.chat_id,
        turn_pk=turn.pk,
        run_id=turn.run_id,
        message_id=turn.message_id,
        ordinal=ordinal,
        kind=kind,
        finish_reason=reason,
        stopped=turn.stopped,
        error=turn.error,
        kept=kept,
        tail=tail,
        digest=checkpoints.digest_of(parts, canonical_parts(steps), salt=salt),
        digest_salt=salt,
    )
    return write, checkpoints.Last(ordinal, kept, tail)


#: The last checkpoint of a message.
_LAST_CHECKPOINT: Prepared[Any] = Prepared(
    lambda: (
        TurnCheckpoint.objects.filter(
            chat_pk=Parameter("chat", BigAutoField()),
            message_id=Parameter("message", CharField()),
        )
        .order_by("-ordinal")
        .values_list("ordinal", "kept", "tail")[:1]
    )
)


def _last_checkpoint(turn: Turn) -> checkpoints.Last | None:
    row = _LAST_CHECKPOINT.first(chat=turn.chat_id, message=turn.message_id)
    return None if row is None else checkpoints.Last(*row)


def _since(
    turn: Turn, last: checkpoints.Last | None, parts: checkpoints.Parts
) -> tuple[int, checkpoints.Parts]:
    """Return the difference from the previous checkpoint. Earlier ones are read only if its step was asked about twice."""
    if last is None:
        return 0, parts
    settled = checkpoints.settled(last)
    if settled is None:
        every = TurnCheckpoint.objects.filter(
            chat_pk=turn.chat_id, message_id=turn.message_id
        ).order_by("ordinal")
        return checkpoints.difference(checkpoints.fold(every), parts)
    kept, tail = checkpoints.difference(
        last.tail[settled - last.kept :], parts[settled:]
    )
    return settled + kept, tail


def rest(turn: Turn) -> Write:
    """Return the write by which a turn is suspended or has ended."""
    columns = ("state", "finish_reason", "lease_until", "usage", "error", "ended_at")
    values = {name: getattr(turn, name) for name in columns}
    return rows.REST_TURN.of(pk=turn.pk, **values)


def notify_after_commit(chat_pk: int) -> None:
    """Notify the chat's pages after the commit."""
    after_commit(doorbell.notify_chat, chat_pk)


def notify_all_after_commit(turn: Turn) -> None:
    """Notify the pages of the turn's chat and of the chats above it, which show its requests too."""
    above: Turn | None = turn
    while above is not None:
        after_commit(doorbell.notify_chat, above.chat_id)
        above = above.parent_call.turn if above.parent_call is not None else None


def queue_turn(turn_id: int) -> None:
    """Have a queued turn run after the commit."""
    if doorbell.has_workers():
        doorbell.enqueue(turn_id)
    else:
        after_commit(doorbell.notify_queued, turn_id)


RUNNER = Door.SYSTEM.value
#: The person who closed a call, and the channel (`via`).
Signed = tuple[Signatory | None, str]
BY_RUNNER: Signed = (None, RUNNER)


def store(
    locked: LockedTurn,
    signed: Mapping[str, Signed] | None = None,
    *,
    also: Sequence[Write] = (),
) -> None:
    """Write the changes of a locked turn: its calls and its new steps, together, and the audit entry of each result.

    `signed` has, by toolCallId, the people who closed calls that the turn's runner did not. A caller that also asks people has
    locked the workflow. `also` are rows to write with the calls. Raise LeaseLost if a call's row was closed after the turn was
    read.
    """
    turn = locked.turn
    difference = changes(locked.stored, locked.progress)
    writes = [_change_call(turn, call) for call in difference.calls]
    for index, step in enumerate(difference.steps, difference.first):
        writes += _add_step(locked, index, step, place=len(writes))
    stored = write_together([*writes, *also])
    for call, row in zip(difference.calls, stored, strict=False):
        if row is None:
            raise LeaseLost(
                f"call {call.tool_call_id} of turn {turn.pk} was closed by a process that does not count its changes"
            )
    locked.stored = locked.progress
    for call in difference.closed:
        by, via = (signed or {}).get(call.tool_call_id, BY_RUNNER)
        record_result(locked, call, actor=by, via=via)


def _add_step(
    locked: LockedTurn, index: int, step: StepView, *, place: int
) -> list[Write]:
    """Return the writes of a step with its calls, the first of which has this place in their batch."""
    turn = locked.turn
    writes = [
        rows.STEP.of_row(
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
    ]
    if index == 0 and step.is_shown:
        writes.append(new_message(turn))
    named = {"chat_id": turn.chat_id, "turn_id": turn.pk}
    keys = {"step_id": place}
    calls = [
        rows.CALL.of_row(**named, **_new_call(call, locked.at), keys=keys)
        for call in step.calls
    ]
    return [*writes, *calls]


def _new_call(call: CallView, at: datetime) -> JsonDict:
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


def _change_call(turn: Turn, call: CallView) -> Write:
    """Return the write of a changed call, which writes nothing if its row is closed."""
    columns: JsonDict = {"chat": turn.chat_id, "tool_call_id": call.tool_call_id}
    columns |= _state_of(call)
    match call.state:
        case CallState.EXECUTING | CallState.DELEGATED:
            return rows.START_CALL.of(**columns, started_at=timezone.now())
        case CallState.READY if not call.attempt:
            # Its runner released it before it ran.
            return rows.START_CALL.of(**columns, started_at=None)
        case _ if call.state in CLOSED:
            return rows.CLOSE_CALL.of(**columns, finished_at=timezone.now())
        case _:
            return rows.CHANGE_CALL.of(**columns)


def _state_of(call: CallView) -> JsonDict:
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
    """Return the salt in the digests of a call that was never asked about, so that no request defines its secrets."""
    return salt_of(f"call {turn.chat_id} {call.tool_call_id}")


def record_result(
    locked: LockedTurn, call: CallView, *, actor: Signatory | None, via: str
) -> None:
    """Record the one `tool.result` audit entry of a call; a repetition is only counted."""
    turn = locked.turn
    request = queries.request_of(call)
    digest = (
        input_digest(call.input, salt=unasked_salt(turn, call))
        if request is None
        else request.input_digest
    )
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
    desk.record_tool_result(
        result, subject, event=event, actor=actor, via=via, request=request
    )


def enqueue_event(event: str, locked: LockedTurn, data: JsonDict) -> None:
    """Put an event of a locked turn into the outbox."""
    turn = locked.turn
    stream = outbox.stream_of(turn.chat.scope, str(turn.top.run_id))
    outbox.enqueue(
        event, stream=stream, data=_event_data(turn) | data, heard=locked.heard
    )


def _event_data(turn: Turn) -> JsonDict:
    """Return the data that all events of a turn have."""
    return {
        "run_id": str(turn.top.run_id),
        "thread_id": turn.top.chat.public_id,
        "agent": turn.agent,
        "message_id": turn.message_id,
    }


def audit_subject(turn: Turn, call: CallView | None = None) -> audit.Subject:
    """Return the subject of an audit entry about a turn, or about one of its calls."""
    return audit.Subject(
        scope=turn.chat.scope,
        run_id=str(turn.top.run_id),
        request_id=call.request_id or None if call is not None else None,
        thread_id=turn.top.chat.public_id,
        agent=turn.agent,
        tool_name=call.name if call is not None else "",
        tool_call_id=call.tool_call_id if call is not None else "",
    )
