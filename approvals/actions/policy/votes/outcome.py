"""The outcome of a vote, as a function of the votes so far and of the people who may vote. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.actions.policy.outcomes import (
    DecidedAlone,
    EndedBefore,
    Ending,
    NewVote,
    Refused,
    Voted,
    VotedBefore,
)
from approvals.asking.answers import Answer
from approvals.exceptions import NotAllowed
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, Vote
from approvals.models.actors import Actor, RecordedActor
from approvals.policy.terms import Terms
from approvals.policy.votes import Electorate, Tally, count, seat_for
from approvals.queries.policy.votes.ballots import casts_of
from approvals.queries.policy.votes.stages import not_needed, stages_of
from approvals.states import Door, Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class BallotFacts:
    """The votes on a request in order of time, its voters, and the terms by which votes are counted."""

    terms: Terms
    votes: Sequence[Vote]
    electorate: Electorate

    def tally(self, request: ApprovalRequest) -> Tally:
        return count(
            self.terms, casts_of(self.votes), self.electorate, request.voted_digest
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteFacts:
    """The facts that the outcome of a vote depends on.

    `seats` are the people its voter may vote for, themselves first. `absent` is the one of them it is given for, None for the
    voter. `proposal` is the changed input that it is about, None for the original one, and `digest` belongs to that input.
    `electorate` are the voters once it is given; None if unchanged. `names` has the names of the people still needed, if this
    vote is not wanted.
    """

    ballot: BallotFacts
    by: Actor
    via: Door
    seats: Sequence[int]
    absent: User | None = None
    proposal: JsonDict | None
    digest: str
    electorate: Electorate | None = None
    names: Mapping[Any, str] = field(default_factory=dict)

    def place(self, before: Tally) -> tuple[int, int] | None:
        """Return the seat and stage of this person's vote; None if no vote of theirs is wanted now."""
        return seat_for(self.ballot.terms, self.seats, before, self.ballot.electorate)

    def with_others(self, vote: Vote) -> list[Vote]:
        """Return the votes of the others, and this one."""
        return [
            *(each for each in self.ballot.votes if each.person_id != vote.person_id),
            vote,
        ]


def on_vote(
    request: ApprovalRequest, answer: Answer, facts: VoteFacts
) -> Refused | DecidedAlone | Voted | VotedBefore | EndedBefore:
    """Return the outcome of a vote on a pending request, by someone who may decide that."""
    ballot = facts.ballot
    before = ballot.tally(request)
    if before.standing != Status.PENDING:
        return EndedBefore(_ending(request.proposal, before, ballot.votes))
    place = facts.place(before)
    if place is None:
        stages = stages_of(ballot.terms, before, facts.names)
        current = None if before.current is None else stages[before.current]
        return Refused(NotAllowed(not_needed(current)))
    if answer.verdict == Verdict.RESPOND:
        # It reports the fact that the call has succeeded, which is not what people vote on.
        return DecidedAlone(answer=answer, absent=facts.absent)
    seat, stage = place
    vote = new_vote(request, answer, facts, stage)
    if vote.repeats and vote.replaces is not None:
        return VotedBefore(vote.replaces)
    electorate = ballot.electorate if facts.electorate is None else facts.electorate
    if facts.absent is not None and not electorate.has(seat, stage):
        name = facts.absent.username
        return Refused(
            NotAllowed(
                _("You vote for %(name)s, who cannot approve this amount.")
                % {"name": name}
            )
        )
    votes = facts.with_others(vote.row)
    tally = count(ballot.terms, casts_of(votes), electorate, facts.digest)
    if tally.standing == Status.PENDING:
        return Voted(
            answer=answer,
            vote=vote,
            calls=vote.changes or tally.current != before.current,
        )
    ending = replace(
        _ending(vote.proposal, tally, votes), via=facts.via, recounted=False
    )
    if ending.by.pk == facts.by.pk:
        ending = replace(
            ending, by=facts.by, answer=replace(ending.answer, unseen=answer.unseen)
        )
    return Voted(answer=answer, vote=vote, ending=ending)


def ending_of(request: ApprovalRequest, ballot: BallotFacts) -> Ending | None:
    """Return how the votes end a pending request now; None if it stays pending."""
    tally = ballot.tally(request)
    return (
        None
        if tally.standing == Status.PENDING
        else _ending(request.proposal, tally, ballot.votes)
    )


def new_vote(
    request: ApprovalRequest, answer: Answer, facts: VoteFacts, stage: int
) -> NewVote:
    """Return a vote that is given in this stage."""
    mine = next(
        (each for each in facts.ballot.votes if each.person_id == facts.by.pk), None
    )
    changes = facts.digest != request.voted_digest
    row = Vote(
        pk=mine.pk if mine else None,
        request=request,
        person_id=facts.by.pk,
        person_name=facts.by.get_username(),
        verdict=Verdict.REJECT if answer.verdict == Verdict.REJECT else Verdict.APPROVE,
        comment=answer.comment,
        digest=facts.digest,
        stage=stage,
        proposes=changes
        or (mine is not None and mine.proposes and mine.digest == facts.digest),
        via=facts.via,
        for_id=facts.absent.pk if facts.absent else None,
        for_name=facts.absent.get_username() if facts.absent else None,
    )
    return NewVote(row=row, replaces=mine, proposal=facts.proposal, changes=changes)


def with_proposal(answer: Answer, proposal: JsonMapping | None) -> Answer:
    """Return the answer that ends a request: approving a proposal approves its changes."""
    if answer.verdict == Verdict.APPROVE and proposal:
        return replace(answer, verdict=Verdict.EDIT, edited_input=proposal["input"])
    return answer


def _ending(
    proposal: JsonMapping | None, tally: Tally, votes: Sequence[Vote]
) -> Ending:
    """Return how complete votes end a request, in the name of the last deciding voter."""
    rejected = tally.standing == Status.REJECTED
    last = [
        each
        for each in votes
        if each.person_id in tally.voters and each.approves is not rejected
    ][-1]
    answer = Answer(Verdict.REJECT if rejected else Verdict.APPROVE, last.comment)
    return Ending(
        answer=with_proposal(answer, proposal),
        by=RecordedActor(last.person_id, last.person_name),
        via=Door(last.via),
        absent=RecordedActor(last.for_id, last.for_name)
        if last.for_id is not None and last.for_name
        else None,
        voters=tally.voters,
        recounted=True,
    )
