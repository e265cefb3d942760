"""Store and publish the outcome of an answer, with its effects in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from approvals.actions import attachments
from approvals.actions.decisions.facts import Sent
from approvals.actions.decisions.outcome import Overdue, Replayed, Ruling, TooLate
from approvals.actions.ending import end_request
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import LockedFor
from approvals.actions.policy.grants.give import give_grant
from approvals.actions.policy.outcomes import (
    DecidedAlone,
    EndedBefore,
    Refused,
    Uncounted,
    Voted,
    VotedBefore,
)
from approvals.actions.policy.votes import cast
from approvals.asking.attachments import NewFile
from approvals.models import ApprovalRequest, Decision, Vote


@dataclass(frozen=True, slots=True)
class Outcome:
    """A request as it is now, and its decision; None if a `vote` was counted and the request is still pending.

    `replayed`: this repeats the same person's decision or vote.
    """

    request: ApprovalRequest
    decision: Decision | None
    replayed: bool = False
    vote: Vote | None = None


@dataclass(frozen=True, slots=True)
class EndedWithout:
    """The request has ended without this answer, before or just now: by its deadline, or by the votes of others."""


def write(
    locked: LockedFor, ruling: Ruling, sent: Sent, files: Sequence[NewFile]
) -> Outcome | EndedWithout:
    """Store an answer to a locked request according to its outcome, and publish it. Raise its Refusal."""
    match ruling:
        case Refused(refusal=refusal):
            raise refusal
        case DecidedAlone():
            decision = end_request(
                locked, ruling.answer, by=sent.by, via=sent.via, absent=ruling.absent
            )
            if files:
                attachments.attach(locked.request, files)
            if ruling.in_place_of_votes:
                cast.tell_of_lone_decision(locked.request, by=sent.by)
            if ruling.grant is not None:
                terms, case = ruling.grant
                give_grant(locked, terms, case, by=sent.by, via=sent.via)
            return Outcome(locked.request, decision)
        case Voted(vote=vote):
            by_votes = cast.write_vote(locked, ruling, by=sent.by, via=sent.via)
            return Outcome(locked.request, by_votes, vote=vote.row)
        case VotedBefore(vote=vote):
            return Outcome(locked.request, None, replayed=True, vote=vote)
        case EndedBefore(ending=ending):
            cast.end_by_votes(locked, ending)
        case Overdue():
            expire_if_overdue(locked)
        case Replayed() | TooLate():
            # An ended request stays unchanged.
            pass
        case Uncounted():
            raise AssertionError("a vote on a locked request whose votes were not read")
    return EndedWithout()
