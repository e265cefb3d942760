"""Answers that a client sends inside its copy of an assistant's message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, Exists, IntegerField, OuterRef, QuerySet
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.actions.checking import too_late
from approvals.asking.answers import Answer
from approvals.db.canonical_json import clean_text
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line
from approvals.exceptions import AlreadyDecided, Expired, Refusal
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import Decision, subscriptions
from approvals.models.actors import Actor
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.states import Door, Verdict
from chats import doorbell, history, queries
from chats.actions.claiming import Begun, continue_locked, hand_over, wake_turn
from chats.actions.forgeries import check_part, contradicts
from chats.actions.locking import LockedTurn
from chats.actions.resuming import WAITING
from chats.actions.storable import check_storable
from chats.exceptions import Forged, NothingNew, UnknownMessage
from chats.models import Message, Turn
from chats.queries import projection
from chats.queries.progress import Paused, Progress
from chats.queries.values import CallView
from chats.states import CLOSED, CallState, TurnState

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """The turn whose calls were answered, and the last `seq` of its stream before that.

    No event after `after` reports the calls that had ended before (`ended`, those of the last step and those that differ in the
    client's copy) or that people have closed now (`closed`, their toolCallIds). `voted` has the progress of votes on calls that
    still wait for others, by toolCallId.
    """

    turn: Turn
    after: int
    ended: Mapping[str, CallView]
    closed: Sequence[str]
    voted: Mapping[str, str]


def take_answers(
    public_id: str,
    message_id: str,
    parts: Sequence[JsonMapping],
    *,
    by: Actor,
    via: Door,
) -> AnsweredTurn:
    """Decide the pending requests that these tool parts of an assistant's message answer, all of them or none.

    `public_id` is that of the person's own chat. The turn continues in the same commit, if this process runs turns and the turn
    need not wait.

    Late and repeated answers change nothing; for a message with nothing else, raise AlreadyDecided, Expired or NothingNew. Also
    raise ChatNotFound, ChatPruned, UnknownMessage, Forged, NotAllowed or Invalid.
    """
    owner = doorbell.claims_as()
    begun = None
    with transaction.atomic():
        turn = _lock_turn(by, public_id, message_id)
        paused = queries.paused_at(turn)
        # Only these can be open.
        last = {call.tool_call_id: call for call in paused.progress.calls}
        calls = _answered_calls(_to_check(parts, paused.progress), paused.progress)
        new = [part for part in parts if part["toolCallId"] in last]
        answers = _new_answers(queries.chain_of(turn, paused.progress.calls), new)
        outcomes = {
            call_id: _decide(last[call_id], answer, by, via)
            for call_id, answer in answers.items()
            if last[call_id].request_id and not last[call_id].decided
        }
        decided = _of_kind(CallView, outcomes)
        if owner and decided and turn.state == TurnState.SUSPENDED:
            begun = _continue(turn, paused, decided, owner)
    refused = list(_of_kind(Refusal, outcomes).values())
    if len(refused) == len(outcomes):
        # Raised after the commit: a request that `decide` found overdue has to stay expired.
        raise _reason_nothing_is_new(
            turn, parts, _calls_of(parts, paused.progress), refused
        )
    if begun is not None:
        hand_over(begun)
    elif not owner:
        # The signal after a decision may have been lost.
        wake_turn(turn.pk)
    ended = {call_id: call for call_id, call in calls.items() if call.state in CLOSED}
    waited = [
        call_id for call_id, call in calls.items() if call.state == CallState.WAITING
    ]
    # Approved calls are reported after they have run.
    approved = {
        call_id for call_id in decided if answers[call_id].verdict == Verdict.APPROVE
    }
    return AnsweredTurn(
        turn=turn,
        after=paused.last_seq,
        ended=ended,
        closed=[call_id for call_id in waited if call_id not in approved],
        voted=_of_kind(str, outcomes),
    )


def _of_kind(kind: type[Kind], outcomes: Mapping[str, object]) -> dict[str, Kind]:
    return {
        call_id: outcome
        for call_id, outcome in outcomes.items()
        if isinstance(outcome, kind)
    }


def _to_check(parts: Sequence[JsonMapping], progress: Progress) -> list[JsonMapping]:
    """Return the parts of the last step, and those of earlier steps that differ from what the client got.

    A long turn has hundreds of parts that the client repeats as it got them.
    """
    last = {call.tool_call_id for call in progress.calls}
    shown = projection.shown_calls(progress.steps)
    return [
        part
        for part in parts
        if part["toolCallId"] in last or part != shown.get(part["toolCallId"])
    ]


def _answered_calls(
    parts: Sequence[Mapping[str, Any]], progress: Progress
) -> dict[str, CallView]:
    """Return the calls that these parts are about. Raise Forged or Invalid, before anything is stored."""
    calls = _calls_of(parts, progress)
    last = {call.tool_call_id for call in progress.calls}
    for part in parts:
        if part["toolCallId"] not in calls:
            message = _("This message has no such tool call.")
            raise Forged(message, clean_text(part["toolCallId"])[:200])
    for part in parts:
        if part["toolCallId"] in last:
            # Nothing of the others is stored.
            check_storable(part)
        check_part(part, calls[part["toolCallId"]])
    return calls


def _calls_of(
    parts: Sequence[Mapping[str, Any]], progress: Progress
) -> dict[str, CallView]:
    """Return the calls with the ids of these parts."""
    ids = {part["toolCallId"] for part in parts}
    return {
        call.tool_call_id: call
        for step in progress.steps
        for call in step.calls
        if call.tool_call_id in ids
    }


def _continue(
    turn: Any, paused: Paused, decided: Mapping[str, CallView], owner: str
) -> Begun | None:
    """Continue a suspended turn whose calls were decided; return the run that has begun, if it need not wait."""
    progress = paused.progress
    calls = [decided.get(call.tool_call_id, call) for call in progress.calls]
    progress = progress.with_calls(calls)
    if any(call.state in WAITING and not call.decided for call in calls):
        # People may have decided about it elsewhere.
        progress = queries.decided_since(turn, progress)
    locked = LockedTurn(turn, paused.last_seq, progress, progress, turn.heard)
    return continue_locked(locked, owner)


def _turns_of_shown_messages() -> QuerySet[Any]:
    shown = Message.objects.filter(
        chat=OuterRef("chat"),
        message_id=OuterRef("message_id"),
        role="assistant",
        cut_at=None,
    )
    turns = Turn.objects.select_related("chat__owner").filter(
        chat__owner=Parameter("owner", IntegerField()),
        chat__public_id=Parameter("public_id", CharField()),
        message_id=Parameter("message_id", CharField()),
    )
    locked = turns.filter(Exists(shown)).select_for_update(of=("self",), no_key=True)
    return locked.annotate(heard=subscriptions.heard())


#: The turn of a shown assistant's message in a person's own chat, locked.
_LOCKED: Prepared[Any] = Prepared(_turns_of_shown_messages)


def _lock_turn(by: Actor, public_id: str, message_id: str) -> Any:
    """Return the locked turn of a shown assistant's message. Raise ChatNotFound, ChatPruned or UnknownMessage."""
    with in_line(("turn", by.pk, public_id, message_id)):
        turn = _LOCKED.first(owner=by.pk, public_id=public_id, message_id=message_id)
    if turn is None or turn.chat.pruned_at is not None:
        queries.get_own_chat(by, public_id)
        raise UnknownMessage
    return turn


def _new_answers(
    chain: list[JsonDict], parts: Sequence[JsonMapping]
) -> dict[str, Answer]:
    """Return the parts' answers to open calls of the one message in `chain`, by toolCallId, in order."""
    incoming = {**chain[0], "parts": list(parts)}
    answers: dict[str, Answer] = {}
    for result in history.extract_new_tool_results(chain, incoming):
        if "output" in result:
            answers[result["toolCallId"]] = Answer(
                Verdict.RESPOND, answer=result["output"]
            )
        else:
            answers[result["toolCallId"]] = Answer(
                Verdict.REJECT, comment=result["errorText"]
            )
    waiting = {pending["toolCallId"] for pending in history.pending_approvals(chain)}
    for part in history.merge_incoming(chain, incoming)[0]["parts"]:
        if part.get("toolCallId") in waiting and part["state"] == "approval-responded":
            approval = part["approval"]
            verdict = Verdict.APPROVE if approval["approved"] else Verdict.REJECT
            answers[part["toolCallId"]] = Answer(
                verdict, comment=approval.get("reason", "")
            )
    return {
        part["toolCallId"]: answers[part["toolCallId"]]
        for part in parts
        if part["toolCallId"] in answers
    }


def _decide(
    call: CallView, answer: Answer, by: Actor, via: Door
) -> CallView | Refusal | str:
    """Decide the request of a call; return the call if this answer decided it, else the refusal because it came too late.

    A returned text means that it was counted as a vote, and describes the progress.
    """
    try:
        outcome = desk.decide(UUID(call.request_id), answer, by=by, via=via)
    except (AlreadyDecided, Expired) as refusal:
        return refusal
    if outcome.decision is None:
        ballot = ballot_of(outcome.request)
        return ballot.words if ballot is not None else ""
    return (
        too_late(outcome.decision)
        if outcome.replayed
        else queries.with_decision(call, outcome.request)
    )


def _reason_nothing_is_new(
    turn: Turn,
    parts: Sequence[JsonMapping],
    calls: Mapping[str, CallView],
    refused: Sequence[Refusal],
) -> Refusal:
    """Return the refusal of a message without a new answer; it names the existing decision, first of a late answer."""
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
