"""Read what the outcome of an answer depends on, into one value that never changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User

from approvals.access import permissions
from approvals.access.fresh_sign_in import SignInAgain, require_fresh_sign_in
from approvals.access.scopes import Change
from approvals.access.standing import Standing
from approvals.actions import checking
from approvals.actions.checking import NOTHING_KNOWN, Known
from approvals.actions.locking import LockedFor
from approvals.asking.answers import ABSENT, Answer
from approvals.models import ApprovalRequest, Grant, Vote
from approvals.models.actors import Actor
from approvals.policy.grants import Case
from approvals.queries.policy.ballots import takes_votes
from approvals.queries.policy.cases import case_of
from approvals.queries.policy.proposals import as_proposed
from approvals.queries.policy.ruling import problem_of_change
from approvals.queries.policy.scopes import changes_of
from approvals.queries.preferences import reason_rules
from approvals.queries.suggestions import usernames_in
from approvals.states import Door, Verdict


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer as it was sent: by whom, how, and the digest of the input that they were shown; None where nothing shows it."""

    answer: Answer
    by: Actor
    via: Door
    shown_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """All that the outcome of an answer depends on.

    `change` is what scopes say of the changed input that it is about, `known` what its checks need, and `sign_in` why it needs a
    fresh log-in. `absent` is the person in whose absence alone it is given. `case` is what its grant is about at the time `now`
    of the database; both None without a lock. Once the request has ended, `vote` and `grant` are what the same person and the
    same approval have left.
    """

    request: ApprovalRequest
    standing: Standing
    sent: Sent
    overdue: bool = False
    change: Change | None = None
    known: Known = NOTHING_KNOWN
    sign_in: SignInAgain | None = None
    absent: User | None = None
    case: Case | None = None
    now: datetime | None = None
    vote: Vote | None = None
    grant: Grant | None = None

    @property
    def proposed(self) -> ApprovalRequest:
        """The request as it is proposed now, which an answer is about."""
        return as_proposed(self.request) if self.request.proposal else self.request

    @property
    def repeats(self) -> bool:
        """Whether the same person has decided, or voted, the same before."""
        request = self.request
        answer = checking.normalize(request, self.sent.answer, self.sent.via)
        return checking.is_replay(request, answer, self.sent.by) or checking.is_same_vote(request, answer, self.vote)


def read_right(request: ApprovalRequest, standing: Standing, sent: Sent) -> DecisionFacts:
    """Read the facts that say whether someone may give this answer at all."""
    change = _change(request, standing, sent.answer)
    return DecisionFacts(request=request, standing=standing, sent=sent, change=change)


def read_seen(request: ApprovalRequest, standing: Standing, sent: Sent) -> DecisionFacts:
    """Read the facts by which an answer to a waiting request may be refused before the lock."""
    facts = read_right(request, standing, sent)
    return replace(
        facts,
        known=known_of(facts.proposed, sent.answer, sent.via),
        sign_in=_sign_in(request, sent) if request.terms else None,
    )


def read_facts(locked: LockedFor, sent: Sent) -> DecisionFacts:
    """Read the facts of an answer to a locked request. What could not count is not read."""
    request, standing = locked.request, locked.standing
    if not request.pending:
        return read_ended(read_right(request, standing, sent))
    if locked.overdue:
        return replace(read_right(request, standing, sent), overdue=True)
    facts = read_seen(request, standing, sent)
    grants = sent.answer.grant is not None
    return replace(
        facts,
        absent=_absent(facts),
        case=case_of(request, locked.workflow, standing) if grants else None,
        now=locked.now,
    )


def read_ended(facts: DecisionFacts) -> DecisionFacts:
    """Return the facts of an answer to a request that has ended, under the same lock also just now."""
    request, by = facts.request, facts.sent.by
    facts = replace(facts, overdue=False)
    if takes_votes(request) and not facts.repeats:
        facts = replace(facts, vote=Vote.objects.filter(request=request.pk, person_id=by.pk).first())
    if facts.sent.answer.grant is not None and facts.repeats:
        facts = replace(facts, grant=Grant.objects.filter(request=request.pk).first())
    return facts


def known_of(request: ApprovalRequest, answer: Answer, via: Door) -> Known:
    """Read what the checks of an answer to a request, as it is proposed, need to know."""
    known = NOTHING_KNOWN
    if not checking.is_possible(request, answer):
        return known
    answer = checking.normalize(request, answer, via)
    if checking.may_lack_reason(request, answer):
        known = replace(known, reason_required=reason_rules({request.tool_name}).apply_to(request))
    value = checking.value_with_people(request, answer)
    if value is not ABSENT:
        known = replace(known, people=frozenset(usernames_in(value)))
    if answer.verdict == Verdict.EDIT and not checking.errors_of(request, answer, via, known):
        known = replace(known, problem_of_change=problem_of_change(request, answer.edited_input) or "")
    return known


def _change(request: ApprovalRequest, standing: Standing, answer: Answer) -> Change | None:
    """Return what scopes say of the changed input that an answer is about, its own or the proposed one; None without one.

    None too for someone whom no scope limits.
    """
    if standing.reach is None:
        return None
    edited = answer.edited_input
    if edited is ABSENT and request.proposal:
        edited = request.proposal["input"]
    return None if edited is ABSENT else changes_of({request: edited})[request.pk]


def _absent(facts: DecisionFacts) -> User | None:
    """Return the person in whose absence alone this one decides."""
    if facts.standing.reach is None:
        return None
    request = facts.request
    answer = checking.normalize(facts.proposed, facts.sent.answer, facts.sent.via)
    # An edit that changes nothing is about the input that was asked.
    changed = bool(request.proposal) or answer.edited_input is not ABSENT
    seat = permissions.decides_for(facts.standing, request, facts.change if changed else None)
    return None if seat is None else User.objects.filter(pk=seat).first()


def _sign_in(request: ApprovalRequest, sent: Sent) -> SignInAgain | None:
    """Return the refusal of someone who has to log in again: that depends on the clock."""
    try:
        require_fresh_sign_in(request, sent.answer.signed_in_at, sent.via)
    except SignInAgain as refusal:
        return refusal
    return None
