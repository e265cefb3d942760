"""Store what becomes of an answer, and publish it: what is written, in the order of the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from approvals.actions import attachments, voting
from approvals.actions.decisions.facts import Sent
from approvals.actions.decisions.outcome import Overdue, Replayed, Ruling, TooLate
from approvals.actions.ending import end_request
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import LockedFor
from approvals.actions.policy.decisions import DecidedAlone, Refused, Voted
from approvals.actions.policy.giving import give_grant
from approvals.asking.attachments import NewFile
from approvals.models import ApprovalRequest, Decision, Vote


@dataclass(frozen=True, slots=True)
class Outcome:
    """A request as it is now, and its decision; None if a `vote` was counted and the request still waits for others.

    `replayed`: this was there already, because the same person has decided or voted the same before.
    """

    request: ApprovalRequest
    decision: Decision | None
    replayed: bool = False
    vote: Vote | None = None


@dataclass(frozen=True, slots=True)
class EndedWithout:
    """The request has ended without this answer, before or just now: by its deadline, or by the votes of others."""


def write(locked: LockedFor, ruling: Ruling, sent: Sent, files: Sequence[NewFile]) -> Outcome | EndedWithout:
    """Store an answer to a locked request as what it is, and publish it. A Refusal if it is refused."""
    match ruling:
        case Refused(refusal=refusal):
            raise refusal
        case DecidedAlone():
            return _write_decision(locked, ruling, sent, files)
        case Voted(answer=answer):
            counted = voting.vote(locked, answer, by=sent.by, via=sent.via)
            if not counted.ended_before:
                return Outcome(locked.request, counted.decision, counted.replayed, counted.vote)
        case Overdue():
            expire_if_overdue(locked)
        case Replayed() | TooLate():
            # What has ended stays as it is.
            pass
    return EndedWithout()


def _write_decision(locked: LockedFor, ruling: DecidedAlone, sent: Sent, files: Sequence[NewFile]) -> Outcome:
    """End the request with one person's decision.

    The request, its workflow and the decision, with the entry and the event (`end_request`); the files that it takes; in place
    of votes, a notice to everyone concerned; and the grant that is given with it.
    """
    request = locked.request
    decision = end_request(locked, ruling.answer, by=sent.by, via=sent.via, absent=ruling.absent)
    if files:
        attachments.attach(request, files)
    if ruling.in_place_of_votes:
        voting.tell_of_lone_decision(request, by=sent.by)
    if ruling.grant is not None:
        terms, case = ruling.grant
        give_grant(locked, terms, case, by=sent.by, via=sent.via)
    return Outcome(request, decision)
