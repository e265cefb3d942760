"""Count a vote under the lock of its request, and end the request with the vote that decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db.models import UUIDField
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions import checking
from approvals.actions.ending import end_request
from approvals.actions.locking import Locked, LockedFor
from approvals.actions.policy.decisions import final_answer
from approvals.actions.publishing import hidden_record, publish_event
from approvals.asking.answers import ABSENT, Answer
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Update
from approvals.exceptions import NotAllowed
from approvals.models import ApprovalRequest, Decision, Vote
from approvals.models.actors import Actor, RecordedActor, Signatory
from approvals.outbound.mentions import notify_of_lone_decision
from approvals.policy.terms import Terms, terms_of
from approvals.policy.votes import Tally, count, seat_for
from approvals.queries.policy.ballots import casts_of, names_for, stages_of, takes_votes, votes_on
from approvals.queries.policy.electorate import delegates_for, electorate_of
from approvals.queries.policy.proposals import proposal
from approvals.states import Door, Status, Verdict

_VOTED = Update(
    lambda: ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField()), status=Status.PENDING),
    "changed_at",
    "proposal",
)


@dataclass(frozen=True, slots=True)
class Counted:
    """A vote that was stored, and the decision if it decided the request; `replayed` if it was there already.

    `ended_before` says that the request has ended with the votes of others, without this one.
    """

    vote: Vote | None
    decision: Decision | None
    replayed: bool = False
    ended_before: bool = False


@dataclass(frozen=True, slots=True)
class Last:
    """The vote with which a request may end: the answer that was sent, who gave it, and how."""

    answer: Answer
    by: Actor
    via: Door


def vote(locked: LockedFor, answer: Answer, *, by: Actor, via: Door) -> Counted:
    """Store the vote of someone who may decide a locked request, and end the request if that decides it.

    `answer` has been checked. NotAllowed if neither the person nor anyone for whom they decide is in a group whose vote is
    wanted now.
    """
    request = locked.request
    terms, votes = terms_of(request.terms), votes_on(request.pk)
    electorate = electorate_of(request, terms, votes)
    before = count(terms, casts_of(votes), electorate, request.voted_digest)
    if before.standing != Status.PENDING:
        # Who may vote has changed since the last vote, and the votes were not counted anew yet.
        return Counted(None, _end(locked, before, votes), ended_before=True)
    place = seat_for(terms, permissions.seats(locked.standing, request), before, electorate)
    if place is None:
        raise NotAllowed(_not_now(terms, before))
    seat, stage = place
    absent = None if seat == by.pk else User.objects.get(pk=seat)
    if answer.verdict == Verdict.RESPOND:
        # That its call has succeeded is a fact that someone has found out, and not what the votes are about.
        return Counted(None, end_request(locked, answer, by=by, via=via, absent=absent))
    mine = next((each for each in votes if each.person_id == by.pk), None)
    changed = _propose(request, answer, by)
    new = _new_vote(request, answer, mine, by=by, via=via, stage=stage, proposes=changed, absent=absent)
    replayed = mine is not None and _same(mine, new)
    if not replayed:
        votes = [*(each for each in votes if each.person_id != by.pk), new]
        if changed or absent is not None:
            electorate = electorate_of(request, terms, votes)
        if absent is not None and not electorate.has(seat, stage):
            raise NotAllowed(_("You vote for %(name)s, who cannot approve this amount.") % {"name": absent.username})
    tally = count(terms, casts_of(votes), electorate, request.voted_digest)
    if not replayed:
        calls = tally.standing == Status.PENDING and (changed or tally.current != before.current)
        _store(locked, new, answer, by=by, via=via, calls=calls)
    kept = mine if mine is not None and replayed else new
    if tally.standing == Status.PENDING:
        return Counted(kept, None, replayed=replayed)
    return Counted(kept, _end(locked, tally, votes, Last(answer, by, via)), replayed=replayed)


def end_if_decided(locked: Locked) -> Decision | None:
    """End a locked request if its votes decide it as things are now; None if it goes on waiting."""
    request = locked.request
    if not takes_votes(request):
        return None
    terms, votes = terms_of(request.terms), votes_on(request.pk)
    tally = count(terms, casts_of(votes), electorate_of(request, terms, votes), request.voted_digest)
    return None if tally.standing == Status.PENDING else _end(locked, tally, votes)


def tell_of_lone_decision(request: ApprovalRequest, *, by: Actor) -> None:
    """Tell everyone concerned that one person has decided: who asked, whose work it is, and everyone who may vote."""
    electorate = electorate_of(request, terms_of(request.terms))
    voters = set[int]().union(*(group for groups in electorate.stages for group in groups))
    concerned = voters | delegates_for(request, voters) | {request.requested_by_id, request.workflow.owner_id}
    people = User.objects.filter(pk__in=any_of(concerned - {by.pk}, int), is_active=True).order_by("pk")
    notify_of_lone_decision(request, list(people), by=by.get_username())


def _not_now(terms: Terms, tally: Tally) -> str:
    """Return who is needed, for someone who is not."""
    stages = stages_of(terms, tally, names_for(terms))
    current = None if tally.current is None else stages[tally.current]
    who = current.who if current is not None else ""
    if who:
        return _("Your vote is not needed now. This request waits for %(who)s.") % {"who": who}
    return _("Your vote is not needed now. This request waits for others who may decide it.")


def _propose(request: ApprovalRequest, answer: Answer, by: Actor) -> bool:
    """Put the changed input of an edit in place of the one that was voted on so far; return whether it is another one."""
    if answer.verdict != Verdict.EDIT:
        return False
    before, digest = request.voted_digest, checking.approved_digest(request, answer)
    asked_again = digest.text == request.input_digest
    request.proposal = None if asked_again else proposal(answer.edited_input, digest, by.get_username())
    return before != digest.text


def _new_vote(
    request: ApprovalRequest,
    answer: Answer,
    mine: Vote | None,
    *,
    by: Actor,
    via: Door,
    stage: int,
    proposes: bool,
    absent: User | None,
) -> Vote:
    return Vote(
        pk=mine.pk if mine else None,
        request=request,
        person_id=by.pk,
        person_name=by.get_username(),
        verdict=Verdict.REJECT if answer.verdict == Verdict.REJECT else Verdict.APPROVE,
        comment=answer.comment,
        digest=request.voted_digest,
        stage=stage,
        proposes=proposes or (mine is not None and mine.proposes and mine.digest == request.voted_digest),
        via=via,
        voted_at=timezone.now(),
        for_id=absent.pk if absent else None,
        for_name=absent.get_username() if absent else None,
    )


def _same(mine: Vote, new: Vote) -> bool:
    return all(
        getattr(mine, name) == getattr(new, name) for name in ("verdict", "comment", "digest", "stage", "for_id")
    )


def _store(locked: Locked, new: Vote, answer: Answer, *, by: Actor, via: Door, calls: bool) -> None:
    request = locked.request
    new.save(force_insert=new.pk is None, force_update=new.pk is not None)
    request.changed_at = new.voted_at
    _VOTED.run(pk=request.pk, changed_at=new.voted_at, proposal=request.proposal)
    record = {
        "verdict": str(answer.verdict),
        "comment": new.comment,
        "edited_input": None if answer.edited_input is ABSENT else answer.edited_input,
        "input_digest": new.digest,
        "stage": new.stage + 1,
    }
    record |= {"for": new.for_name} if new.for_name is not None else {}
    record |= hidden_record(request) | ({"unseen": answer.unseen} if answer.unseen else {})
    at = new.voted_at
    publish_event("request.voted", request, locked.workflow, record=record, actor=by, via=via, at=at, calls=calls)


def _end(locked: Locked, tally: Tally, votes: Sequence[Vote], now: Last | None = None) -> Decision:
    """End a request as its votes say, in the name of who gave the last vote for it.

    `now` is the vote that has just been given; without one, they decide it because of a change of who may vote.
    """
    request = locked.request
    rejected = tally.standing == Status.REJECTED
    last = [each for each in votes if each.person_id in tally.voters and each.approves is not rejected][-1]
    name: Signatory = RecordedActor(last.person_id, last.person_name)
    verdict = Verdict.REJECT if rejected else Verdict.APPROVE
    final = Answer(verdict, last.comment)
    if now is not None and last.person_id == now.by.pk:
        name, final = now.by, replace(final, unseen=now.answer.unseen)
    stored = Vote.objects.filter(request=request.pk)
    stored.filter(person_id__in=tally.voters).update(counted=True)
    stored.exclude(person_id__in=tally.voters).update(counted=False)
    absent = RecordedActor(last.for_id, last.for_name) if last.for_id is not None and last.for_name else None
    ending = final if rejected else final_answer(request, final)
    via = Door(last.via) if now is None else now.via
    return end_request(locked, ending, by=name, via=via, absent=absent, recounted=now is None)
