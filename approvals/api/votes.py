"""The votes on a request, as documents for programs."""

from __future__ import annotations

from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, Field

from approvals.api.bodies import Moment
from approvals.api.outcomes import ReadRequest
from approvals.asking.secrets import masked_input
from approvals.models import ApprovalRequest
from approvals.queries.policy.votes.ballots import Ballot, CastVote, ballot_of


class VoteGroup(BaseModel):
    who: str = Field(
        description="The teams and people of the group; empty for anyone who may decide."
    )
    votes: int = Field(
        description="How many approvals of the group are counted so far."
    )
    needed: int


class VoteStage(BaseModel):
    groups: list[VoteGroup]
    any: bool = Field(description="Whether the approval of one group is enough.")
    met: bool
    current: bool = Field(description="Whether this stage takes votes now.")


class VoteDocument(BaseModel):
    by: str = Field(description="A user, or `API key NAME of USER`.")
    on_behalf_of: str | None = Field(
        description="The absent user for whom it was given; otherwise null."
    )
    verdict: Literal["approve", "reject"]
    comment: str
    input_digest: str = Field(
        description="The digest of the input that was voted on. The vote counts only for this input."
    )
    stage: int = Field(description="The stage in which it counts, from 1.")
    counts: bool = Field(
        description="False if the input has changed since, the voter has lost the right, or another vote replaces it."
    )
    via: str
    voted_at: Moment


class ProposalDocument(BaseModel):
    """The changed input that people vote on, in place of `input`."""

    input: dict[str, Any]
    input_digest: str
    digest_salt: str | None = Field(
        description="The salt for the proposed input, like the `digest_salt` of the request."
    )
    by: str


class VotesDocument(BaseModel):
    """The votes on a request that several people decide."""

    progress: str = Field(
        description="The votes so far, in words, such as `1 of 2, finance missing`."
    )
    veto: bool = Field(description="Whether one rejection ends it.")
    stages: list[VoteStage]
    cast: list[VoteDocument] = Field(
        description="The votes, one for each person, in order of time."
    )
    proposal: ProposalDocument | None = Field(
        description="Null while people vote on `input`."
    )


def votes_document(request: ReadRequest) -> VotesDocument | None:
    """Return the votes on a request; None if one person decides it."""
    ballot = ballot_of(request.row)
    if ballot is None:
        return None
    return VotesDocument(
        progress=ballot.words,
        veto=ballot.terms.veto,
        stages=_stages(ballot),
        cast=[_vote(each) for each in ballot.votes],
        proposal=_proposal(request),
    )


def _stages(ballot: Ballot) -> list[VoteStage]:
    return [
        VoteStage(
            groups=[
                VoteGroup(who=group.who, votes=group.votes, needed=group.needed)
                for group in stage.groups
            ],
            any=stage.any,
            met=stage.met,
            current=stage.current,
        )
        for stage in ballot.stages
    ]


def _vote(cast: CastVote) -> VoteDocument:
    vote = cast.vote
    return VoteDocument(
        by=vote.person_name,
        on_behalf_of=vote.for_name,
        verdict="approve" if vote.approves else "reject",
        comment=vote.comment,
        input_digest=vote.digest,
        stage=vote.stage + 1,
        counts=cast.counts,
        via=vote.via,
        voted_at=vote.voted_at,
    )


def _proposal(request: ReadRequest) -> ProposalDocument | None:
    held = request.row.proposal
    if not held or not request.row.pending:
        return None
    value = held["input"]
    salt = held.get("salt") or None
    if request.masks:
        value = masked_input(request.row, value)
        salt = None
    return ProposalDocument(
        input=value, input_digest=held["digest"], digest_salt=salt, by=held["by"]
    )


def waiting_words(request: ApprovalRequest) -> str:
    """Return the progress of the votes as a sentence; empty if one person decides."""
    ballot = ballot_of(request) if request.pending else None
    return (
        _("Votes: %(progress)s.") % {"progress": ballot.words}
        if ballot is not None
        else ""
    )
