"""What becomes of an answer, as a function of its facts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions import checking
from approvals.actions.decisions.facts import DecisionFacts
from approvals.actions.policy.decisions import DecidedAlone, PolicyFacts, Refused, Voted, may_decide_alone, on_decide
from approvals.actions.policy.giving import was_given
from approvals.exceptions import (
    AlreadyDecided,
    AskedByOwnKey,
    Changed,
    CriticalElsewhere,
    Expired,
    GrantMissed,
    Invalid,
    NotAllowed,
    Refusal,
)
from approvals.queries.policy.why_not import edit_words, why_not
from approvals.states import OWN_PAGES


@dataclass(frozen=True, slots=True)
class Overdue:
    """The deadline has passed, though no one has ended the request yet."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request has ended, and this was there already: the same person has decided or voted the same before."""


@dataclass(frozen=True, slots=True)
class TooLate:
    """The request has ended without this."""

    refusal: AlreadyDecided | Expired | GrantMissed


Ruling = Refused | Overdue | Replayed | TooLate | Voted | DecidedAlone


def outcome_of(facts: DecisionFacts) -> Ruling:
    """Return what becomes of an answer: it is refused, comes too late or again, or the policy says what it is."""
    refusal = refusal_of_right(facts)
    if refusal is not None:
        return Refused(refusal)
    if not facts.request.pending:
        return _after_the_end(facts)
    if facts.overdue:
        return Overdue()
    refusal = _first(_CHECKS, facts)
    if refusal is not None:
        return Refused(refusal)
    sent = facts.sent
    try:
        answer = checking.check(facts.proposed, sent.answer, sent.via, facts.known)
    except Invalid as invalid:
        return Refused(invalid)
    return on_decide(
        PolicyFacts(request=facts.request, answer=answer, absent=facts.absent, case=facts.case, now=facts.now)
    )


def refusal_of_right(facts: DecisionFacts) -> Refusal | None:
    """Return why someone who sees a request may not end it, or not with this input; None if they may."""
    return _first(_RIGHTS, facts)


Step = Callable[[DecisionFacts], Refusal | None]


def _first(steps: Sequence[Step], facts: DecisionFacts) -> Refusal | None:
    for step in steps:
        refusal = step(facts)
        if refusal is not None:
            return refusal
    return None


def _not_theirs(facts: DecisionFacts) -> Refusal | None:
    if permissions.may_close(facts.standing, facts.request):
        return None
    return NotAllowed(why_not(facts.standing, facts.request))


def _not_with_this_input(facts: DecisionFacts) -> Refusal | None:
    change = facts.change
    if change is None or permissions.may_change_input(facts.standing, facts.request, change):
        return None
    return NotAllowed(edit_words(facts.standing, facts.request, change))


def _not_alone(facts: DecisionFacts) -> Refusal | None:
    if not facts.sent.answer.break_glass or may_decide_alone(facts.standing, facts.request):
        return None
    return NotAllowed(_("You cannot decide this request alone."))


def _own_request(facts: DecisionFacts) -> Refusal | None:
    own = permissions.asked_through_own_key(facts.standing, facts.request)
    return AskedByOwnKey(facts.request) if own else None


def _only_on_pages(facts: DecisionFacts) -> Refusal | None:
    elsewhere = facts.sent.via not in OWN_PAGES and permissions.only_on_own_pages(facts.request)
    return CriticalElsewhere(facts.request) if elsewhere else None


def _long_signed_in(facts: DecisionFacts) -> Refusal | None:
    return facts.sign_in


def _other_input(facts: DecisionFacts) -> Refusal | None:
    request, shown = facts.request, facts.sent.shown_digest
    # Whoever does not say what they were shown has seen the input that was asked.
    if (request.input_digest if shown is None else shown) == request.voted_digest:
        return None
    return Changed(request.voted_digest)


#: What only someone else may do, also with a request that has ended, and then what has to be so while it waits; in this order.
_RIGHTS: Sequence[Step] = (_not_theirs, _not_with_this_input, _not_alone, _own_request)
_CHECKS: Sequence[Step] = (_only_on_pages, _long_signed_in, _other_input)


def _after_the_end(facts: DecisionFacts) -> Replayed | TooLate:
    decision = facts.request.decision
    if not facts.repeats:
        return TooLate(checking.too_late(decision))
    grant = facts.sent.answer.grant
    if grant is not None and not was_given(facts.grant, grant):
        return TooLate(GrantMissed(decision))
    return Replayed()
