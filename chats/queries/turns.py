"""Turns: a chat's current turn, its progress, and its stored events."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import BigAutoField, IntegerField, Max, QuerySet

from approvals.db.prepared import Parameter, Prepared
from approvals.json_types import JsonDict
from chats.agent import events
from chats.models import Chat, Turn, TurnEvent
from chats.queries.projection import message_parts
from chats.queries.steps import steps_of
from chats.states import UNFINISHED, CallState, TurnState

#: The states of a turn that a runner has, or is about to claim.
RUNNING = (TurnState.QUEUED, TurnState.RUNNING)


def _turns_of_chat() -> QuerySet[Turn]:
    return Turn.objects.filter(chat=Parameter("chat", BigAutoField()))


#: The turn of a chat that has not ended.
_UNFINISHED: Prepared[Turn] = Prepared(
    lambda: _turns_of_chat().filter(state__in=sorted(UNFINISHED)).order_by("id")[:1]
)
#: The last turn of a chat.
_LAST: Prepared[Turn] = Prepared(lambda: _turns_of_chat().order_by("-id")[:1])


def unfinished_turn(chat: Chat) -> Turn | None:
    return _with_chat(_UNFINISHED.first(chat=chat.pk), chat)


def _with_chat(turn: Turn | None, chat: Chat) -> Turn | None:
    if turn is not None:
        turn.chat = chat
    return turn


def unfinished_turns(cap: int) -> dict[str, int]:
    """Return the number of turns by unfinished state; `cap` means that many or more."""
    return {
        state: Turn.objects.filter(state=state).order_by()[:cap].count()
        for state in sorted(UNFINISHED)
    }


def last_turn(chat: Chat) -> Turn | None:
    return _with_chat(_LAST.first(chat=chat.pk), chat)


def running_turn(chat_pk: int) -> tuple[int, int] | None:
    """Return the id of the chat's queued or running turn, and the last `seq` of its committed steps; None without one."""
    turn = Turn.objects.filter(chat=chat_pk, state__in=RUNNING).first()
    return (
        None if turn is None else (turn.pk, _last_seq_before(turn, turn.steps.count()))
    )


def _last_seq_before(turn: Turn, step: int) -> int:
    return turn.events.filter(step__lt=step).aggregate(last=Max("seq"))["last"] or 0


def running_message(chat: Chat) -> tuple[Turn, list[JsonDict], int] | None:
    """Return the chat's queued or running turn, the parts of its message, and the last `seq` of its stream in them.

    Later events may repeat a result that is in the parts. None without such a turn.
    """
    turn = chat.turns.filter(state__in=RUNNING).first()
    if turn is None:
        return None
    committed = turn.steps.count()
    after = _last_seq_before(turn, committed)
    # Read after the events, so that no result is missing in both. A step that was committed meanwhile is among the events.
    return turn, message_parts(steps_of(turn.pk)[:committed]), after


def sub_agent_turns(turn_id: int) -> dict[str, list[int]]:
    """Return the ids of the turns of this turn's sub-agents whose calls are not settled, by state."""
    ids: dict[str, list[int]] = defaultdict(list)
    below = Turn.objects.filter(
        parent_call__turn=turn_id, parent_call__state=CallState.DELEGATED
    )
    for pk, state in below.values_list("pk", "state"):
        ids[state].append(pk)
    return ids


def last_seq(turn: Turn) -> int:
    """Return the `seq` of the last stored event of a turn; 0 without one."""
    return _LAST_SEQ.first(turn=turn.pk) or 0


#: The number of the last stored event of a turn.
_LAST_SEQ: Prepared[int] = Prepared(
    lambda: (
        TurnEvent.objects.filter(turn=Parameter("turn", BigAutoField()))
        .order_by("-seq")
        .values_list("seq", flat=True)[:1]
    )
)
#: The stored events of a turn after a number.
_EVENTS: Prepared[tuple[int, JsonDict]] = Prepared(
    lambda: (
        TurnEvent.objects.filter(
            turn=Parameter("turn", BigAutoField()),
            seq__gt=Parameter("seq", IntegerField()),
        )
        .order_by("seq")
        .values_list("seq", "chunk")[:500]
    )
)


def events_after(turn_id: int, seq: int) -> list[tuple[int, JsonDict]]:
    """Return stored events (seq, JSON) of a turn after `seq`, at most those of 500 rows."""
    numbered_pieces: list[tuple[int, JsonDict]] = []
    for last, stored in _EVENTS.all(turn=turn_id, seq=seq):
        pieces = events.pieces_from_json(stored)
        numbered = zip(range(last - len(pieces) + 1, last + 1), pieces, strict=True)
        # Two rows may hold the same piece, if a commit was not confirmed and repeated together with later pieces.
        seen = numbered_pieces[-1][0] if numbered_pieces else seq
        numbered_pieces += [
            (number, piece) for number, piece in numbered if number > seen
        ]
    return numbered_pieces
