"""Answers that a client sends inside its copy of an assistant's message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import BigAutoField, CharField, Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.actions.checking import too_late
from approvals.asking.answers import Answer
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line
from approvals.exceptions import AlreadyDecided, Expired, Refusal
from approvals.models import Decision, subscriptions
from approvals.models.actors import Actor
from approvals.queries.policy.ballots import ballot_of
from approvals.states import Door, Verdict
from chats import doorbell, history, queries
from chats.actions.claiming import continue_locked, hand_over, wake_turn
from chats.actions.forgeries import check_part, contradicts
from chats.actions.locking import Locked
from chats.exceptions import ChatNotFound, Forged, NothingNew, UnknownMessage
from chats.models import Chat, Message, ToolCall, Turn
from chats.queries.values import CallView
from chats.states import CLOSED, CallState, TurnState


@dataclass(frozen=True, slots=True)
class Taken:
    """The turn whose calls were answered, and the last `seq` of its stream before that.

    No event after `after` reports the calls that were sent and that had ended before, which are in `ended`, nor those that
    people have closed now, whose toolCallIds are in `closed`. `voted` says how far the votes are on those that still wait for
    others, by toolCallId.
    """

    turn: Turn
    after: int
    ended: Mapping[str, CallView]
    closed: Sequence[str]
    voted: Mapping[str, str]


def take_answers(chat: Chat, message_id: str, parts: Sequence[Mapping[str, Any]], *, by: Actor, via: Door) -> Taken:
    """Decide the pending requests that these tool parts of an assistant's message answer, all of them or none.

    The turn goes on in the same commit, if this process runs turns and it need not wait.

    Late and repeated answers change nothing; a message with nothing else is refused with AlreadyDecided, Expired or
    NothingNew. Also raises ChatNotFound, UnknownMessage, Forged, NotAllowed, Invalid.
    """
    if chat.owner_id != by.pk:
        raise ChatNotFound
    owner, begun = doorbell.claims_as(), None
    with transaction.atomic():
        turn = _lock_turn(chat, message_id)
        # Only these can be open.
        rows = {row.tool_call_id: row for row in queries.last_calls(turn)}
        progress = queries.progress_of(turn, [queries.call_view(row) for row in rows.values()])
        known = {call.tool_call_id: call for step in progress.steps for call in step.calls}
        if unknown := [part["toolCallId"] for part in parts if part["toolCallId"] not in known]:
            raise Forged(_("This message has no such tool call."), str(unknown[0])[:200])
        for part in parts:
            check_part(part, known[part["toolCallId"]])
        calls = {part["toolCallId"]: known[part["toolCallId"]] for part in parts}
        after = queries.last_seq(turn)
        chain = queries.chain_of(turn, progress.calls)
        answers = _new_answers(chain, [part for part in parts if part["toolCallId"] in rows])
        outcomes = {
            call_id: _decide(rows[call_id], answer, by, via)
            for call_id, answer in answers.items()
            if (request := rows[call_id].approval) is not None and request.pending
        }
        refused = [outcome for outcome in outcomes.values() if isinstance(outcome, Refusal)]
        voted = {call_id: outcome for call_id, outcome in outcomes.items() if isinstance(outcome, str)}
        if owner and None in outcomes.values() and turn.state == TurnState.SUSPENDED:
            decided = queries.last_calls(turn) if refused else rows.values()
            progress = progress.with_calls([queries.call_view(row) for row in decided])
            begun = continue_locked(Locked(turn, after, progress, progress, turn.heard), owner)
    if len(refused) == len(outcomes):
        # Raised after the commit: a request that `decide` found overdue has to stay expired.
        raise _reason_nothing_is_new(turn, parts, calls, refused)
    if begun is not None:
        hand_over(begun)
    elif not owner:
        # The signal that follows a decision may have been lost.
        wake_turn(turn.pk)
    # What may run now is reported when it has run.
    approved = {call_id for call_id, answer in answers.items() if answer.verdict == Verdict.APPROVE} - voted.keys()
    ended = {call_id: call for call_id, call in calls.items() if call.state in CLOSED}
    waited = [call_id for call_id, call in calls.items() if call.state == CallState.WAITING]
    return Taken(turn, after, ended, [call_id for call_id in waited if call_id not in approved], voted)


def _turns_of_shown_messages() -> QuerySet[Any]:
    shown = Message.objects.filter(
        chat=OuterRef("chat"), message_id=OuterRef("message_id"), role="assistant", cut_at=None
    )
    turns = Turn.objects.filter(chat=Parameter("chat", BigAutoField()), message_id=Parameter("message_id", CharField()))
    locked = turns.filter(Exists(shown)).select_for_update(of=("self",), no_key=True)
    return locked.annotate(heard=subscriptions.heard())


_LOCKED: Prepared[Any] = Prepared(_turns_of_shown_messages)


def _lock_turn(chat: Chat, message_id: str) -> Any:
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
    answers: dict[str, Answer] = {}
    for result in history.extract_new_tool_results(chain, incoming):
        if "output" in result:
            answers[result["toolCallId"]] = Answer(Verdict.RESPOND, answer=result["output"])
        else:
            answers[result["toolCallId"]] = Answer(Verdict.REJECT, comment=result["errorText"])
    waiting = {pending["toolCallId"] for pending in history.pending_approvals(chain)}
    for part in history.merge_incoming(chain, incoming)[0]["parts"]:
        if part.get("toolCallId") in waiting and part["state"] == "approval-responded":
            approval = part["approval"]
            verdict = Verdict.APPROVE if approval["approved"] else Verdict.REJECT
            answers[part["toolCallId"]] = Answer(verdict, comment=approval.get("reason", ""))
    return {part["toolCallId"]: answers[part["toolCallId"]] for part in parts if part["toolCallId"] in answers}


def _decide(row: ToolCall, answer: Answer, by: Actor, via: Door) -> Refusal | str | None:
    """Decide the request of a call; return None if this answer decided it, else the refusal that says why it came too late.

    A text says that it was counted as a vote, and how far the votes are. The row then has the request as it is now.
    """
    assert row.approval_id is not None
    try:
        outcome = desk.decide(row.approval_id, answer, by=by, via=via)
    except (AlreadyDecided, Expired) as refusal:
        return refusal
    row.approval = outcome.request
    if outcome.decision is None:
        ballot = ballot_of(outcome.request)
        return ballot.words if ballot is not None else ""
    return too_late(outcome.decision) if outcome.replayed else None


def _reason_nothing_is_new(
    turn: Turn, parts: Sequence[Mapping[str, Any]], calls: Mapping[str, CallView], refused: Sequence[Refusal]
) -> Refusal:
    """Return the refusal of a message without a new answer; it names the decision that stands, of a late answer first."""
    if refused:
        return refused[0]
    rows = {row.tool_call_id: row for row in queries.calls_of(turn, list(calls))}
    late: list[Decision] = []
    repeated: list[Decision] = []
    for part in parts:
        call_id = part["toolCallId"]
        if (decision := queries.decision_of(rows[call_id].approval)) is not None:
            (late if contradicts(part, calls[call_id]) else repeated).append(decision)
    standing = [*late, *repeated]
    return too_late(standing[0]) if standing else NothingNew()
