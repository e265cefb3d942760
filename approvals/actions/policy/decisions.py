"""What the policy makes of a checked answer of someone who may decide: the one way in. Pure.

`on_decide` goes through what the policy has to say, in order: a proposal, an absence, the grant, the votes, break-glass access.
Whatever it needs is read before (`approvals.actions.decisions.facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.actions.policy.giving import problem_of_grant
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid, Refusal
from approvals.models import ApprovalRequest
from approvals.policy.grants import Case, GrantTerms
from approvals.queries.policy.ballots import takes_votes
from approvals.states import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What the policy rules over: a waiting request, an answer that fits it, and what was read about both.

    `absent` is the person in whose absence alone it is given. `case` is what its grant is about at the time `now`; None without
    a grant, and before the lock.
    """

    request: ApprovalRequest
    answer: Answer
    absent: User | None = None
    case: Case | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing is stored."""

    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Voted:
    """It is a vote."""

    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedAlone:
    """It ends the request, as this person's decision alone, in the name of `absent` if that is someone.

    `in_place_of_votes` says that the terms leave it to several people. `grant` is the one that is given with it.
    """

    answer: Answer
    absent: User | None = None
    in_place_of_votes: bool = False
    grant: tuple[GrantTerms, Case] | None = None


PolicyOutcome = Refused | Voted | DecidedAlone


def on_decide(facts: PolicyFacts) -> PolicyOutcome:
    """Return what the policy makes of an answer, which is one person's decision until a step says something else."""
    outcome: PolicyOutcome = DecidedAlone(answer=facts.answer)
    for step in _STEPS:
        if isinstance(outcome, DecidedAlone):
            outcome = step(facts, outcome)
    return outcome


def may_decide_alone(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may decide alone what the terms of the request leave to several people."""
    return takes_votes(request) and permissions.may_break_glass(standing, request)


def _with_proposal(facts: PolicyFacts, outcome: DecidedAlone) -> PolicyOutcome:
    """Whoever approves a proposal approves with its changes."""
    return replace(outcome, answer=final_answer(facts.request, outcome.answer))


def _in_absence(facts: PolicyFacts, outcome: DecidedAlone) -> PolicyOutcome:
    """A grant would outlast the absence."""
    absent = facts.absent
    if absent is None or facts.answer.grant is None:
        return replace(outcome, absent=absent)
    message = _("You decide this for %(name)s, who is away. Approve it without a grant.")
    problem = _("is not possible for someone who is away")
    return Refused(Invalid(message % {"name": absent.get_username()}, {"grant": problem}))


def _with_grant(facts: PolicyFacts, outcome: DecidedAlone) -> PolicyOutcome:
    """A grant that is not possible refuses the answer that it came with, also a vote."""
    if facts.answer.grant is None or facts.case is None or facts.now is None:
        return outcome
    refusal = problem_of_grant(facts.answer, facts.case, facts.now)
    if refusal is not None:
        return Refused(refusal)
    return replace(outcome, grant=(facts.answer.grant, facts.case))


def _by_votes(facts: PolicyFacts, outcome: DecidedAlone) -> PolicyOutcome:
    """What several people decide is voted on, unless someone breaks the glass."""
    if facts.request.terms and takes_votes(facts.request) and not facts.answer.break_glass:
        return Voted(facts.answer)
    return outcome


def _by_breaking_the_glass(facts: PolicyFacts, outcome: DecidedAlone) -> PolicyOutcome:
    """Who may do that is a right, which was checked before."""
    return replace(outcome, in_place_of_votes=facts.answer.break_glass)


#: What the policy has to say, in this order. The grant comes before the votes: with one that is not possible nothing is voted.
_STEPS: Sequence[Callable[[PolicyFacts, DecidedAlone], PolicyOutcome]] = (
    _with_proposal,
    _in_absence,
    _with_grant,
    _by_votes,
    _by_breaking_the_glass,
)


def final_answer(request: ApprovalRequest, answer: Answer) -> Answer:
    """Return the answer that ends a request: whoever approves a proposal approves with its changes."""
    if answer.verdict == Verdict.APPROVE and request.proposal:
        return replace(answer, verdict=Verdict.EDIT, edited_input=request.proposal["input"])
    return answer
