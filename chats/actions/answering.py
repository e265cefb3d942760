"""Answers that a client sends inside its copy of an assistant's message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import BigAutoField, CharField, Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.actions.rulings import too_late
from approvals.asking.answers import Answer
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line
from approvals.exceptions import AlreadyDecided, Expired, Refusal
from approvals.models import ApprovalRequest, Decision
from approvals.models.actors import Actor
from approvals.states import Door, Verdict
from chats import history, queries
from chats.actions.claiming import wake_turn
from chats.actions.forgeries import check_part, contradicts
from chats.exceptions import ChatNotFound, Forged, NothingNew, UnknownMessage
from chats.models import Chat, Message, ToolCall, Turn
from chats.states import CLOSED, CallState


@dataclass(frozen=True, slots=True)
class Taken:
    """The turn whose calls were answered, and the last `seq` of its stream before that.

    `unreported` are the toolCallIds of the calls that were sent and that no event after `after` may report: those that were
    closed before, and those that people close.
    """

    turn: Turn
    after: int
    unreported: frozenset[str]


def take_answers(chat: Chat, message_id: str, parts: Sequence[Mapping[str, Any]], *, by: Actor, via: Door) -> Taken:
    """Decide the pending requests that these tool parts of an assistant's message answer, all of them or none.

    Late and repeated answers change nothing; a message with nothing else is refused with AlreadyDecided, Expired or
    NothingNew. Also raises ChatNotFound, UnknownMessage, Forged, NotAllowed, Invalid.
    """
    if chat.owner_id != by.pk:
        raise ChatNotFound
    with transaction.atomic():
        turn = _lock_turn(chat, message_id)
        named = [part["toolCallId"] for part in parts]
        calls = {call.tool_call_id: call for call in queries.calls_of(turn, named)}
        if unknown := [part["toolCallId"] for part in parts if part["toolCallId"] not in calls]:
            raise Forged(_("This message has no such tool call."), str(unknown[0])[:200])
        for part in parts:
            check_part(part, calls[part["toolCallId"]])
        after = queries.last_seq(turn)
        answers = _new_answers(queries.chain_of(turn, calls.values()), parts)
        refused = [
            _decide(request, answer, by, via)
            for call_id, answer in answers.items()
            if (request := calls[call_id].approval) is not None and request.pending
        ]
    if None not in refused:
        # Raised after the commit: a request that `decide` found overdue has to stay expired.
        raise _reason_nothing_is_new(parts, calls, refused)
    # The signal that follows a decision may have been lost.
    wake_turn(turn.pk)
    # What may run now is reported when it has run.
    approved = {call_id for call_id, answer in answers.items() if answer.verdict == Verdict.APPROVE}
    closed = {call_id for call_id, call in calls.items() if call.state in {*CLOSED, CallState.WAITING}}
    return Taken(turn, after, frozenset(closed - approved))


def _turns_of_shown_messages() -> QuerySet[Turn]:
    shown = Message.objects.filter(
        chat=OuterRef("chat"), message_id=OuterRef("message_id"), role="assistant", cut_at=None
    )
    turns = Turn.objects.filter(chat=Parameter("chat", BigAutoField()), message_id=Parameter("message_id", CharField()))
    return turns.filter(Exists(shown)).select_for_update(of=("self",), no_key=True)


_LOCKED: Prepared[Turn] = Prepared(_turns_of_shown_messages)


def _lock_turn(chat: Chat, message_id: str) -> Turn:
    """Return the locked turn of a shown assistant's message. UnknownMessage."""
    with in_line(("turn", chat.pk, message_id)):
        turn = _LOCKED.first(chat=chat.pk, message_id=message_id)
    if turn is None:
        raise UnknownMessage
    turn.chat = chat
    return turn


def _new_answers(chain: list[dict[str, Any]], parts: Sequence[Mapping[str, Any]]) -> dict[str, Answer]:
    """Return what the parts decide about the open calls of the one message in `chain`, by toolCallId, in their order."""
    incoming = {**chain[0], "parts": list(parts)}
    found: dict[str, Answer] = {}
    for result in history.extract_new_tool_results(chain, incoming):
        if "output" in result:
            found[result["toolCallId"]] = Answer(Verdict.RESPOND, answer=result["output"])
        else:
            found[result["toolCallId"]] = Answer(Verdict.REJECT, comment=result["errorText"])
    asked = {pending["toolCallId"] for pending in history.pending_approvals(chain)}
    for part in history.merge_incoming(chain, incoming)[0]["parts"]:
        if part.get("toolCallId") in asked and part["state"] == "approval-responded":
            approval = part["approval"]
            verdict = Verdict.APPROVE if approval["approved"] else Verdict.REJECT
            found[part["toolCallId"]] = Answer(verdict, comment=approval.get("reason", ""))
    return {part["toolCallId"]: found[part["toolCallId"]] for part in parts if part["toolCallId"] in found}


def _decide(request: ApprovalRequest, answer: Answer, by: Actor, via: Door) -> Refusal | None:
    """Decide a request; return None if this answer decided it, else the refusal that says why it came too late."""
    try:
        outcome = desk.decide(request.pk, answer, by=by, via=via)
    except (AlreadyDecided, Expired) as refusal:
        return refusal
    return too_late(outcome.decision) if outcome.replayed else None


def _reason_nothing_is_new(
    parts: Sequence[Mapping[str, Any]], calls: Mapping[str, ToolCall], refused: Sequence[Refusal | None]
) -> Refusal:
    """Return the refusal of a message without a new answer; it names the decision that stands, of a late answer first."""
    if refusal := next((refusal for refusal in refused if refusal is not None), None):
        return refusal
    late: list[Decision] = []
    repeated: list[Decision] = []
    for part in parts:
        call = calls[part["toolCallId"]]
        if (decision := queries.decision_of(call.approval)) is not None:
            (late if contradicts(part, call) else repeated).append(decision)
    standing = [*late, *repeated]
    return too_late(standing[0]) if standing else NothingNew()
