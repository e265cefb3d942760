"""The votes on a request for its card, as one person sees them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.db.canonical_json import utc
from approvals.models import ApprovalRequest
from approvals.queries.policy.votes.ballots import Ballot, CastVote, ballots_of
from approvals.queries.policy.votes.stages import not_needed
from approvals.text.differences import Change, changes

Ballots = Mapping[UUID, Ballot]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voting:
    """The context of `approvals/request/_votes.html`; `own` is the person's vote, `proposed` the proposed changes.

    `standing` is their vote too, if it counts and the request waits for others. `votes_for` names the absent person that they
    vote for; empty if they vote for themselves.
    """

    ballot: Ballot
    admitted: bool
    votes_for: str
    own: CastVote | None
    standing: CastVote | None
    may_break_glass: bool
    proposed: Sequence[Change]

    @property
    def look(self) -> Hashable:
        """A value that changes whenever this looks different."""
        return (
            self.ballot.look,
            self.own and self.own.vote.pk,
            self.may_break_glass,
            self.votes_for,
        )

    @property
    def own_vote(self) -> str:
        """The person's vote as JSON, by which a page recognizes its own submission; empty if they have not voted."""
        if self.own is None:
            return ""
        vote = self.own.vote
        return json.dumps(
            {
                "at": utc(vote.voted_at),
                "verdict": vote.verdict,
                "digest": vote.digest,
                "comment": vote.comment,
            }
        )

    @property
    def refusal(self) -> str:
        """Why the person cannot vote now; empty if they can, or if no vote is wanted any more."""
        if self.admitted or not self.ballot.pending:
            return ""
        return not_needed(self.ballot.current)


def voting_of(
    viewer: Standing, request: ApprovalRequest, ballots: Ballots | None = None
) -> Voting | None:
    """Return the votes on a request; None if it is not decided by votes. `ballots` are those already read."""
    ballot = (ballots_of([request], [viewer]) if ballots is None else ballots).get(
        request.pk
    )
    if ballot is None:
        return None
    edited = (
        request.proposal["input"]
        if request.pending and request.proposal
        else request.input
    )
    return Voting(
        ballot=ballot,
        admitted=ballot.admits(viewer),
        votes_for=ballot.votes_for(viewer) if request.pending else "",
        own=ballot.vote_of(viewer),
        standing=ballot.standing_vote_of(viewer),
        may_break_glass=request.pending
        and permissions.may_break_glass(viewer, request),
        proposed=changes(request.input, edited, request.secrets or ()),
    )
