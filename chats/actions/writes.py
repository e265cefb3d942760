"""Writes that several actions share: stream events, messages, checkpoints, new turns, notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from secrets import token_hex
from typing import Any

from django.db.models import BigAutoField, CharField

from approvals import actions as desk
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import after_commit
from approvals.models import Workflow
from chats import checkpoints, doorbell, queue
from chats.actions import rows
from chats.actions.locking import Locked, Recorded
from chats.agent import events
from chats.models import Turn, TurnCheckpoint
from chats.queries.projection import canonical_parts
from chats.queries.values import StepView
from chats.states import CheckpointKind, FinishReason


def lock_workflow(turn: Turn) -> Workflow | None:
    """Lock the workflow of a turn and its sub-agents, if it exists: after the turns, and before any event is enqueued."""
    return desk.lock_workflow(scope=turn.top.chat.scope, key=str(turn.top.run_id))


def number_events(next_seq: int, step: int, unnumbered: Sequence[events.Event]) -> list[Recorded]:
    """Return events of a step with their positions, from `next_seq` on."""
    return [Recorded(next_seq + offset, step, event) for offset, event in enumerate(unnumbered)]


def write_events(locked: Locked, recorded: Sequence[Recorded]) -> None:
    """Store the events that are not in the database yet.

    `recorded` is everything since the runner's last synchronous commit. A crash of the database loses only the end of what
    was committed asynchronously, so the missing events are those after the last stored one.
    """
    turn = locked.turn
    stored: list[dict[str, Any]] = []
    for pieces in _by_row(item for item in recorded if item.seq > locked.last_seq):
        chunk = events.pieces_to_json([item.event for item in pieces])
        last = pieces[-1]
        stored.append({"turn_id": turn.pk, "seq": last.seq, "attempt": turn.attempt, "step": last.step, "chunk": chunk})
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


def store_message(turn: Turn, parts: list[dict[str, Any]], metadata: dict[str, Any]) -> None:
    """Store the message of a turn that ends. Until then its parts are not stored, because each write would copy them all."""
    named = {"chat": turn.chat_id, "named": turn.message_id}
    if parts and not rows.STORE_MESSAGE.run(**named, parts=parts, metadata=metadata):
        rows.MESSAGE.row(
            chat_id=turn.chat_id, message_id=turn.message_id, role="assistant", parts=parts, metadata=metadata
        )


def write_checkpoint(
    turn: Turn,
    parts: list[dict[str, Any]],
    kind: CheckpointKind,
    reason: FinishReason,
    *,
    steps: Sequence[StepView] = (),
    is_first: bool = False,
) -> None:
    """Store the message's parts as the turn's next checkpoint; `is_first` says that it is known to have none.

    `steps` are those of which a runner may know the canonical form already.
    """
    last = None if is_first else _LAST_CHECKPOINT.first(chat=turn.chat_id, message=turn.message_id)
    kept, tail = _since(last, parts)
    salt = token_hex(16)
    rows.CHECKPOINT.row(
        chat_pk=turn.chat_id,
        turn_pk=turn.pk,
        run_id=turn.run_id,
        message_id=turn.message_id,
        ordinal=0 if last is None else last.ordinal + 1,
        kind=kind,
        finish_reason=reason,
        stopped=turn.stopped,
        error=turn.error,
        kept=kept,
        tail=tail,
        digest=checkpoints.digest_of(parts, canonical_parts(steps), salt=salt),
        digest_salt=salt,
    )


_LAST_CHECKPOINT: Prepared[TurnCheckpoint] = Prepared(
    lambda: TurnCheckpoint.objects.filter(
        chat_pk=Parameter("chat", BigAutoField()), message_id=Parameter("message", CharField())
    ).order_by("-ordinal")[:1]
)


def _since(last: TurnCheckpoint | None, parts: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
    """Return what differs from the previous checkpoint. Earlier ones are read only if its step was asked about twice."""
    if last is None:
        return 0, parts
    settled = checkpoints.settled(last)
    if settled is None:
        every = TurnCheckpoint.objects.filter(chat_pk=last.chat_pk, message_id=last.message_id).order_by("ordinal")
        return checkpoints.difference(checkpoints.fold(every), parts)
    kept, tail = checkpoints.difference(last.tail[settled - last.kept :], parts[settled:])
    return settled + kept, tail


def rest(turn: Turn) -> None:
    """Store that a turn is suspended or has ended."""
    columns = ("state", "finish_reason", "lease_until", "usage", "error", "ended_at")
    rows.REST_TURN.run(pk=turn.pk, **{name: getattr(turn, name) for name in columns})


def notify_after_commit(chat_pk: int) -> None:
    """Notify the chat's pages once the open transaction is committed."""
    after_commit(doorbell.notify_chat, chat_pk)


def notify_all_after_commit(turn: Turn) -> None:
    """Notify the pages of the turn's chat and of the chats above it, which show its requests too."""
    notify_after_commit(turn.chat_id)
    if turn.parent_call is not None:
        notify_all_after_commit(turn.parent_call.turn)


def queue_turn(turn_id: int) -> None:
    """Have a queued turn run once the open transaction is committed."""
    if queue.in_use():
        queue.put(turn_id)
    else:
        after_commit(doorbell.notify_queued, turn_id)
