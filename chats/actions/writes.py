"""Writes that several actions share: messages, checkpoints, stream events, results of calls, and notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import BigAutoField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals import actions as desk
from approvals.models import Workflow
from approvals.models.actors import Signatory
from approvals.outbound import outbox
from approvals.record import audit
from approvals.runtime.canonical import digest
from approvals.runtime.prepared import Parameter, Prepared
from approvals.runtime.transactions import after_commit
from approvals.states import Door
from chats import checkpoints, doorbell, queries, queue
from chats.agent import events
from chats.agent.agent import Agent
from chats.exceptions import LeaseLost
from chats.models import Chat, Message, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.queries import Progress, projection
from chats.states import CALL_TRANSITIONS, CallState, CheckpointKind, FinishReason, TurnState


@dataclass(frozen=True, slots=True)
class Claim:
    """A runner's right to write to a turn. `attempt` is the fencing number that each of its writes carries.

    `known` is what the runner has read of the turn, so that its writes need not read it again.
    """

    turn_id: int
    attempt: int
    known: Known | None = field(default=None, compare=False, repr=False)

    def progress(self) -> Progress | None:
        """Return the runner's progress, if only the runner changes it and no write has failed since it was read."""
        found = self.known.progress if self.known is not None else None
        return found if found is not None and found.is_ours else None

    @property
    def never_paused(self) -> bool:
        """Whether the turn is known to have had no pause yet."""
        return self.known is not None and self.known.is_new

    def forget(self) -> None:
        """Have the rows be read again: a write failed, or changed more than the runner keeps up with."""
        if self.known is not None:
            self.known.progress, self.known.is_new = None, False


@dataclass(slots=True)
class Known:
    """The turn of a runner with its chat, its progress, and whether it had neither a runner nor a step before.

    `unstarted` are the attempts, by id, of calls that are stored as running but whose tools this runner has not begun.
    """

    turn: Turn
    is_new: bool
    progress: Progress | None = None
    unstarted: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stream event with its position: `seq` counts over the whole turn, `step` is the index of its step."""

    seq: int
    step: int
    event: events.Event


@contextmanager
def claimed_turn(claim: Claim) -> Iterator[tuple[Turn, int]]:
    """Open a transaction of a runner and lock its turn; yield it with the last stored `seq` of its stream.

    LeaseLost if another runner has the turn.
    """
    try:
        with transaction.atomic():
            yield _lock(claim)
    except BaseException:
        claim.forget()
        raise


def _locked_turns() -> QuerySet[Any]:
    last = TurnEvent.objects.filter(turn=OuterRef("pk")).order_by("-seq").values("seq")[:1]
    locked = Turn.objects.select_for_update(of=("self",), no_key=True).filter(pk=Parameter("pk", BigAutoField()))
    return locked.annotate(**{"stored": Coalesce(Subquery(last), 0)})


_TURN: Prepared[Any] = Prepared(lambda: _locked_turns().select_related("chat__owner"))
#: Only these columns change while a runner has the turn.
_STATE: Prepared[Any] = Prepared(lambda: _locked_turns().values_list("state", "attempt", "stopped", "usage", "stored"))


def _lock(claim: Claim) -> tuple[Turn, int]:
    found: Any = (_TURN if claim.known is None else _STATE).first(pk=claim.turn_id)
    if found is None:
        raise LeaseLost(f"turn {claim.turn_id} is gone")
    turn: Turn
    last_seq: int
    if claim.known is None:
        turn, last_seq = found, found.stored
    else:
        turn = claim.known.turn
        turn.state, turn.attempt, turn.stopped, turn.usage, last_seq = found
    if turn.state != TurnState.RUNNING or turn.attempt != claim.attempt:
        raise LeaseLost(f"turn {turn.pk}: attempt {claim.attempt} is over")
    return turn, last_seq


def lock_workflow(turn: Turn) -> Workflow | None:
    """Lock the workflow of a turn and its sub-agents, if it exists: after the turns, and before any event is enqueued."""
    return desk.lock_workflow(scope=turn.top.chat.scope, key=str(turn.top.run_id))


def write_events(turn: Turn, last_seq: int, recorded: Sequence[Recorded]) -> None:
    """Store the events that the database lacks; `turn` and `last_seq` are from `claimed_turn`.

    `recorded` is everything since the runner's last synchronous commit. A crash of the database loses only the end of what
    was committed asynchronously, so the missing events are those after `last_seq`.
    """
    rows: list[TurnEvent] = []
    for run in _runs(item for item in recorded if item.seq > last_seq):
        chunk = events.pieces_to_json([item.event for item in run])
        rows.append(TurnEvent(turn_id=turn.pk, seq=run[-1].seq, attempt=turn.attempt, step=run[-1].step, chunk=chunk))
    # While this thread waited for the lock, another thread of the same runner may have stored some of them.
    TurnEvent.objects.bulk_create(rows, ignore_conflicts=True)


def _runs(recorded: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    """Yield the events for each row: pieces of one text together, because a model says each word as an event."""
    run: list[Recorded] = []
    for item in recorded:
        if run and not (
            item.seq == run[-1].seq + 1 and item.step == run[-1].step and events.is_piece_of(item.event, run[-1].event)
        ):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def parts_of(turn: Turn, progress: Progress | None = None, *, closing: str = "") -> list[dict[str, Any]]:
    """Return the parts of the turn's message, made from its steps, which are read unless they are given."""
    views = progress.views if progress is not None else queries.steps_of(turn).views
    return projection.message_parts(views, closing=closing)


def store_message(turn: Turn, parts: list[dict[str, Any]], metadata: dict[str, Any]) -> None:
    """Store the message of a turn that ends. Until then its parts are not stored, because each write would copy them all."""
    if parts and not turn.chat.shown.filter(message_id=turn.message_id).update(parts=parts, metadata=metadata):
        add_message(turn.chat, turn.message_id, "assistant", parts, metadata=metadata)


_LAST_POSITION: Prepared[int] = Prepared(
    lambda: (
        Message.objects.filter(chat=Parameter("chat", BigAutoField()))
        .order_by("-position")
        .values_list("position", flat=True)[:1]
    )
)


def add_message(
    chat: Chat, message_id: str, role: str, parts: list[dict[str, Any]], *, metadata: Any = None, first: bool = False
) -> Message:
    """Append a message. The caller has locked the chat or the turn; `first` says that the chat is known to have none."""
    last = None if first else _LAST_POSITION.first(chat=chat.pk)
    position = 0 if last is None else last + 1
    return Message.objects.create(
        chat=chat, message_id=message_id, role=role, parts=parts, metadata=metadata, position=position
    )


def write_checkpoint(
    turn: Turn, parts: list[dict[str, Any]], kind: CheckpointKind, reason: FinishReason, *, first: bool = False
) -> TurnCheckpoint:
    """Store the message's parts as the turn's next checkpoint; `first` says that it is known to have none."""
    earlier = TurnCheckpoint.objects.filter(chat_pk=turn.chat_id, message_id=turn.message_id).order_by("ordinal")
    before = [] if first else list(earlier)
    kept, tail = checkpoints.difference(checkpoints.fold(before), parts)
    return TurnCheckpoint.objects.create(
        chat_pk=turn.chat_id,
        turn_pk=turn.pk,
        run_id=turn.run_id,
        message_id=turn.message_id,
        ordinal=len(before),
        kind=kind,
        finish_reason=reason,
        stopped=turn.stopped,
        error=turn.error,
        kept=kept,
        tail=tail,
        digest=checkpoints.digest_of(parts),
    )


def close_call(
    call: ToolCall, state: CallState, *, output: Any = None, error_text: str = "", by: Signatory | None = None, via: str
) -> None:
    """Close a call: change its state, and record its one `tool.result` audit entry."""
    assert state in CALL_TRANSITIONS[CallState(call.state)], (call.state, state)
    call.state, call.output, call.error_text, call.finished_at = state, output, error_text, timezone.now()
    call.save(update_fields=["state", "output", "error_text", "finished_at"])
    record_result(call, actor=by, via=via)


def record_result(call: ToolCall, *, actor: Signatory | None, via: str) -> None:
    """Record the one `tool.result` audit entry of a call; a repetition is only counted."""
    result = desk.ToolResult(
        state=call.state,
        input=call.input,
        input_digest=digest(call.input),
        executed_digest=call.executed_digest,
        output=call.output,
        error_text=call.error_text,
        executions=call.attempt,
    )
    event = _event_data(call.turn) | {"tool_name": call.name}
    subject = audit_subject(call.turn, call)
    desk.record_tool_result(result, subject, event=event, actor=actor, via=via, request=queries.request_of(call))


def enqueue_event(event: str, turn: Turn, data: dict[str, Any]) -> None:
    """Put an event of a turn into the outbox, in the open transaction."""
    stream = outbox.stream_of(turn.chat.scope, str(turn.top.run_id))
    outbox.enqueue(event, stream=stream, data=_event_data(turn) | data)


def _event_data(turn: Turn) -> dict[str, Any]:
    """Return the data that all events of a turn have."""
    return {
        "run_id": str(turn.top.run_id),
        "thread_id": turn.top.chat.public_id,
        "agent": turn.agent,
        "message_id": turn.message_id,
    }


def audit_subject(turn: Turn, call: ToolCall | None = None) -> audit.Subject:
    """Return what an audit entry about a turn, or about one of its calls, refers to."""
    return audit.Subject(
        scope=turn.chat.scope,
        run_id=str(turn.top.run_id),
        request_id=str(call.approval_id) if call is not None and call.approval_id else None,
        thread_id=turn.top.chat.public_id,
        agent=turn.agent,
        tool_name=call.name if call is not None else "",
        tool_call_id=call.tool_call_id if call is not None else "",
    )


def start_turn(chat: Chat, text: str, agent: Agent, *, source: str, **below: Any) -> Turn:
    """Queue a turn that answers `text`. `below` holds `parent_call`, `root` and `depth` of a sub-agent's turn."""
    turn = Turn.objects.create(
        chat=chat, message_id=uuid4().hex, agent=agent.name, agent_version=agent.version, source=source, **below
    )
    chat.title = chat.title or text.strip()[:80].partition("\n")[0]
    chat.updated_at = timezone.now()
    chat.save(update_fields=["title", "updated_at"])
    queue_turn(turn.pk)
    notify_after_commit(chat.pk)
    return turn


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


RUNNER = Door.SYSTEM.value
