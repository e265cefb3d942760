"""Requests whose terms need several people, and their votes. Until rules put terms on requests, tests put them there."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import User

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, Vote
from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.states import Door, Verdict
from tests.support.desk.requests import make_request, stored


def make_team(name: str, *members: User) -> Team:
    team = Team.objects.create(name=name)
    team.user_set.add(*members)
    return team


def group(*members: User | Team, votes: int = 1) -> VoterGroup:
    people = tuple(member.pk for member in members if isinstance(member, User))
    return VoterGroup(
        people=people, teams=tuple(member.pk for member in members if isinstance(member, Team)), votes=votes
    )


def both(*groups: VoterGroup) -> Terms:
    """Terms of one stage whose groups are joined by *and*."""
    return Terms(stages=(Stage(groups=groups),))


def with_terms(request: ApprovalRequest, terms: Terms, **changes: Any) -> ApprovalRequest:
    """Put terms on a waiting request, as a rule would when it is asked."""
    ApprovalRequest.objects.filter(pk=request.pk).update(terms=terms.document(), **changes)
    return stored(request)


def make_voted(owner: User, terms: Terms, **asked: Any) -> ApprovalRequest:
    return with_terms(make_request(owner, **{"tool_name": "pay"} | asked), terms)


def vote(
    request: ApprovalRequest, by: Any, verdict: Verdict = Verdict.APPROVE, *, via: Door = Door.DASHBOARD, **given: Any
) -> actions.Outcome:
    """Vote on the current content of the request."""
    now = stored(request)
    return actions.decide(request.pk, Answer(verdict, **given), by=by, via=via, shown_digest=now.voted_digest)


def progress_of(request: ApprovalRequest) -> str:
    """How far the votes are, in words."""
    ballot = ballot_of(stored(request))
    assert ballot is not None
    return ballot.words


def votes_of(request: ApprovalRequest) -> list[tuple[str, str]]:
    votes = Vote.objects.filter(request=request.pk).order_by("voted_at", "pk")
    return [(vote.person_name, vote.verdict) for vote in votes]
