"""Apply the policy to a validated answer by someone who may decide: the only entry point. Pure.

`on_decide` goes through its parts in order. All facts are read before (`approvals.actions.decisions.facts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.actions.policy.grants.give import problem_of_grant
from approvals.actions.policy.outcomes import (
    DecidedAlone,
    PolicyOutcome,
    Refused,
    Uncounted,
)
from approvals.actions.policy.votes.outcome import VoteFacts, on_vote, with_proposal
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest
from approvals.policy.grants import GrantCase


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPolicyFacts:
    """The facts for the policy: a pending request, a valid answer, and further data about both.

    `absent` is the person on whose behalf alone it is given. `case` is the case of its grant at the time `now`; None without a
    grant, and before the lock. `vote` are the facts if it is a vote; None otherwise, and before the lock.
    """

    request: ApprovalRequest
    answer: Answer
    absent: User | None = None
    case: GrantCase | None = None
    now: datetime | None = None
    vote: VoteFacts | None = None


def on_decide(facts: DecisionPolicyFacts) -> PolicyOutcome:
    """Return the policy's outcome for an answer.

    In this order: an impossible grant refuses the answer that it came with, even a vote; a request that requires several people
    is voted on, unless break-glass access is used, the right to which was checked before; and otherwise it is one person's
    decision, which approves a proposal with its changes.
    """
    request = facts.request
    answer = facts.answer
    if answer.grant is not None:
        refusal = _refusal_of_grant(facts)
        if refusal is not None:
            return Refused(refusal)
    if is_vote(request, answer):
        if facts.vote is None:
            return Uncounted()
        return on_vote(request, answer, facts.vote)
    proposal = request.proposal
    grant = None
    if answer.grant is not None and facts.case is not None:
        grant = (answer.grant, facts.case)
    return DecidedAlone(
        answer=with_proposal(answer, proposal) if proposal else answer,
        absent=facts.absent,
        in_place_of_votes=answer.break_glass,
        grant=grant,
    )


def may_decide_alone(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may decide alone a request whose terms require several people."""
    return request.takes_votes and permissions.may_break_glass(standing, request)


def is_vote(request: ApprovalRequest, answer: Answer) -> bool:
    """Return whether an answer to a request is one vote of several, not one person's decision."""
    return request.takes_votes and not answer.break_glass


def _refusal_of_grant(facts: DecisionPolicyFacts) -> Invalid | None:
    """Return why the grant of an answer is impossible. Before the lock, only whether a delegate gives it is known."""
    if facts.absent is not None:
        # A grant would outlast the absence.
        message = _(
            "You are deciding for %(name)s, who is away. Approve without a grant."
        )
        problem = _("is not possible for someone who is away")
        return Invalid(
            message % {"name": facts.absent.get_username()}, {"grant": problem}
        )
    if facts.case is None or facts.now is None:
        return None
    return problem_of_grant(facts.answer, facts.case, facts.now)
