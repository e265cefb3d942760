"""Answers that a client sends inside its copy of an assistant's message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.exceptions import AlreadyDecided, Expired, Refusal
from approvals.models.actors import Actor
from approvals.runtime.canonical import clean_text
from approvals.states import Door
from chats import claims, queries
from chats.actions.resuming import resume_turn
from chats.claims import Said, Standing
from chats.exceptions import ChatNotFound, Forged, NothingNew, UnknownMessage
from chats.models import Chat, Turn
from chats.states import CLOSED, TurnState


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the answers: the turn, and the last `seq` of its stream before them.

    `told` are the calls that no event behind `after` will speak of: those closed before, and those that people closed.
    """

    turn: Turn
    after: int
    told: frozenset[str]


def take_answers(chat: Chat, message_id: str, parts: Sequence[Mapping[str, Any]], *, by: Actor, via: Door) -> Taken:
    """Decide what is open in the store and answered in these tool parts, all of it or nothing.

    Late and repeated answers change nothing; a POST of nothing else is refused with AlreadyDecided, Expired or
    NothingNew. ChatNotFound, UnknownMessage, Forged, NotAllowed, Invalid.
    """
    if chat.owner_id != by.pk:
        raise ChatNotFound
    with transaction.atomic():
        turn = _locked_turn(chat, message_id)
        calls = {call.tool_call_id: call for call in turn.tool_calls.select_related("approval__decision")}
        if unknown := [part["toolCallId"] for part in parts if part["toolCallId"] not in calls]:
            raise Forged(_("This message has no such tool call."), str(unknown[0])[:200])
        found = [claims.read(part, calls[part["toolCallId"]]) for part in parts]
        after = queries.last_seq(turn)
        refused = [_decide(said, by, via) for said in _first_of_each(found)]
    if None not in refused:
        # Outside the block: an expiry that was just written has to stay.
        raise _why_nothing(found, refused)
    turn.refresh_from_db()
    if turn.state == TurnState.SUSPENDED:
        # The signal that follows a decision may have been lost.
        resume_turn(turn.pk)
    told = {call_id for call_id, call in calls.items() if call.state in CLOSED}
    told |= set(turn.tool_calls.filter(attempt=0, state__in=CLOSED).values_list("tool_call_id", flat=True))
    return Taken(turn, after, frozenset(told))


def _locked_turn(chat: Chat, message_id: str) -> Turn:
    if not chat.shown.filter(message_id=message_id, role="assistant").exists():
        raise UnknownMessage
    found = Turn.objects.select_for_update(of=("self",), no_key=True).filter(chat=chat, message_id=message_id).first()
    if found is None:
        raise UnknownMessage
    return found


def _first_of_each(found: Sequence[Said]) -> list[Said]:
    """The new claims, the first where a message holds a call twice."""
    first: dict[str, Said] = {}
    for said in found:
        if said.standing is Standing.NEW:
            first.setdefault(said.call.tool_call_id, said)
    return list(first.values())


def _decide(said: Said, by: Actor, via: Door) -> Refusal | None:
    """None if this said is what ended the request; else why it came too late."""
    assert said.call.approval is not None
    assert said.verdict is not None
    try:
        outcome = desk.decide(
            said.call.approval.pk,
            by=by,
            via=via,
            verdict=said.verdict,
            comment=clean_text(said.comment),
            answer=said.answer,
        )
    except (AlreadyDecided, Expired) as refusal:
        return refusal
    return AlreadyDecided(outcome.decision) if outcome.replayed else None


def _why_nothing(found: Sequence[Said], refused: Sequence[Refusal | None]) -> Refusal:
    """Whose answer stands, where a late or repeated one was sent."""
    told = [refusal for refusal in refused if refusal is not None]
    late = [said for said in found if said.standing is Standing.LATE] or [
        said for said in found if said.call.approval is not None
    ]
    told += [
        AlreadyDecided(said.call.approval.decision)
        for said in late
        if said.call.approval is not None and hasattr(said.call.approval, "decision")
    ]
    return told[0] if told else NothingNew()
