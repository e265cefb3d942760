"""The outcome of an answer, as a function of its facts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions import checking
from approvals.actions.decisions.facts import DecisionFacts
from approvals.actions.policy.decisions import (
    DecisionPolicyFacts,
    may_decide_alone,
    on_decide,
)
from approvals.actions.policy.grants.give import was_given
from approvals.actions.policy.outcomes import PolicyOutcome, Refused
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
    """The deadline has passed, though the request has not been ended yet."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request has ended, and this repeats the same person's decision or vote."""


@dataclass(frozen=True, slots=True)
class TooLate:
    """The request has ended without this answer."""

    refusal: AlreadyDecided | Expired | GrantMissed


Ruling = Overdue | Replayed | TooLate | PolicyOutcome


def outcome_of(facts: DecisionFacts) -> Ruling:
    """Return the outcome of an answer: refused, too late, a repeat, or determined by the policy."""
    request = facts.request
    sent = facts.sent
    refusal = refusal_of_right(facts)
    if refusal is not None:
        return Refused(refusal)
    if not request.pending:
        return _after_the_end(facts)
    if facts.overdue:
        return Overdue()
    if sent.via not in OWN_PAGES and permissions.only_on_own_pages(request):
        return Refused(CriticalElsewhere(request))
    if facts.sign_in is not None:
        return Refused(facts.sign_in)
    if facts.about_another_input:
        return Refused(Changed(request.voted_digest))
    try:
        answer = checking.check(request, sent.answer, sent.via, facts.known)
    except Invalid as invalid:
        return Refused(invalid)
    return on_decide(
        DecisionPolicyFacts(
            request=request,
            answer=answer,
            absent=facts.absent,
            case=facts.case,
            now=facts.now,
            vote=facts.vote,
        )
    )


def refusal_of_right(facts: DecisionFacts) -> Refusal | None:
    """Return why someone who sees a request may not end it, or not with this input; None if they may.

    Also for ended requests.
    """
    request = facts.request
    standing = facts.standing
    change = facts.change
    if not permissions.may_close(standing, request):
        return NotAllowed(why_not(standing, request))
    if change is not None and not permissions.may_change_input(
        standing, request, change
    ):
        return NotAllowed(edit_words(standing, request, change))
    if facts.sent.answer.break_glass and not may_decide_alone(standing, request):
        return NotAllowed(_("You cannot decide this request alone."))
    if permissions.asked_through_own_key(standing, request):
        return AskedByOwnKey(request)
    return None


def _after_the_end(facts: DecisionFacts) -> Replayed | TooLate:
    decision = facts.request.decision
    if not facts.repeats:
        return TooLate(checking.too_late(decision))
    grant = facts.sent.answer.grant
    if grant is not None and not was_given(facts.grant, grant):
        return TooLate(GrantMissed(decision))
    return Replayed()
