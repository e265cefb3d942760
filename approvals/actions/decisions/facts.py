"""Read the facts that the outcome of an answer depends on, into one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User

from approvals.access import permissions
from approvals.access.fresh_sign_in import SignInAgain, refuse_old_sign_in
from approvals.access.scopes import ChangedInput
from approvals.access.standing import Standing
from approvals.actions import checking
from approvals.actions.checking import NOTHING_KNOWN, AnswerFacts
from approvals.actions.locking import LockedFor
from approvals.actions.policy.decisions import is_vote
from approvals.actions.policy.votes.outcome import BallotFacts, VoteFacts, new_vote
from approvals.asking.answers import ABSENT, Answer
from approvals.models import ApprovalRequest, Grant, Vote
from approvals.models.actors import Actor
from approvals.policy.grants import GrantCase
from approvals.policy.terms import terms_of
from approvals.queries.policy.grants.grant_case import case_of
from approvals.queries.policy.rules.policy_versions import problem_of_change
from approvals.queries.policy.scopes.matching import changes_of
from approvals.queries.policy.votes.ballots import proposal, votes_on
from approvals.queries.policy.votes.electorate import electorate_of
from approvals.queries.policy.votes.stages import names_for
from approvals.queries.preferences import reason_rules
from approvals.queries.suggestions import usernames_in
from approvals.states import Door, Status, Verdict


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer with its author, its channel, and the digest of the displayed input (None where nothing displays it)."""

    answer: Answer
    by: Actor
    via: Door
    shown_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """The facts that the outcome of an answer depends on.

    `change` is its changed input for scope checks, `known` the facts for its validation, and `sign_in` the refusal for lack of a
    recent log-in. `absent` is the person on whose behalf alone it is given. `case` is the case of its grant at the database time
    `now`, and `vote` the facts if it is a vote; these are None without a lock. For an ended request, `voted` and `grant` are the
    same person's vote and the grant of the same approval.
    """

    request: ApprovalRequest
    standing: Standing
    sent: Sent
    overdue: bool = False
    change: ChangedInput | None = None
    known: AnswerFacts = NOTHING_KNOWN
    sign_in: SignInAgain | None = None
    absent: User | None = None
    case: GrantCase | None = None
    now: datetime | None = None
    vote: VoteFacts | None = None
    voted: Vote | None = None
    grant: Grant | None = None

    @property
    def about_another_input(self) -> bool:
        """Whether it is about another input than the proposed one; without a shown digest, it is about the original input."""
        request = self.request
        shown = self.sent.shown_digest
        return (
            request.input_digest if shown is None else shown
        ) != request.voted_digest

    @property
    def repeats(self) -> bool:
        """Whether the same person has already given the same decision or vote."""
        request = self.request
        answer = checking.normalize(request, self.sent.answer, self.sent.via)
        return checking.is_replay(
            request, answer, self.sent.by
        ) or checking.is_same_vote(request, answer, self.voted)


def read_right(
    request: ApprovalRequest, standing: Standing, sent: Sent
) -> DecisionFacts:
    """Read the facts that determine whether someone may give this answer at all."""
    change = _change(request, sent.answer) if standing.is_limited else None
    return DecisionFacts(request=request, standing=standing, sent=sent, change=change)


def read_seen(
    request: ApprovalRequest, standing: Standing, sent: Sent
) -> DecisionFacts:
    """Read the facts by which an answer to a waiting request may be refused before the lock."""
    facts = replace(
        read_right(request, standing, sent),
        known=known_of(request, sent.answer, sent.via),
    )
    if not permissions.needs_fresh_sign_in(request):
        return facts
    at = sent.answer.signed_in_at
    return replace(facts, sign_in=refuse_old_sign_in(request, at, sent.via))


def read_facts(locked: LockedFor, sent: Sent) -> DecisionFacts:
    """Read the facts of an answer to a locked request, skipping those that cannot matter."""
    request = locked.request
    standing = locked.standing
    if not request.pending:
        return read_ended(read_right(request, standing, sent))
    if locked.overdue:
        return replace(read_right(request, standing, sent), overdue=True)
    facts = read_seen(request, standing, sent)
    grants = sent.answer.grant is not None
    return replace(
        facts,
        absent=_absent(facts) if standing.is_limited else None,
        case=case_of(request, locked.workflow, standing) if grants else None,
        now=locked.now,
        vote=_vote(facts) if is_vote(request, sent.answer) else None,
    )


def read_ballot(request: ApprovalRequest) -> BallotFacts:
    """Read the facts for counting the votes on a request."""
    terms = terms_of(request.terms)
    votes = votes_on(request.pk)
    return BallotFacts(
        terms=terms,
        votes=votes,
        electorate=electorate_of(request, terms, request.proposal, votes),
    )


def read_ended(facts: DecisionFacts) -> DecisionFacts:
    """Return the facts of an answer to a request that has ended, possibly just now under the same lock."""
    request = facts.request
    by = facts.sent.by
    facts = replace(facts, overdue=False)
    if request.takes_votes and not facts.repeats:
        facts = replace(
            facts,
            voted=Vote.objects.filter(request=request.pk, person_id=by.pk).first(),
        )
    if facts.sent.answer.grant is not None and facts.repeats:
        facts = replace(facts, grant=Grant.objects.filter(request=request.pk).first())
    return facts


def known_of(request: ApprovalRequest, answer: Answer, via: Door) -> AnswerFacts:
    """Read the facts for validating an answer to a request as currently proposed."""
    known = NOTHING_KNOWN
    if not checking.is_possible(request, answer):
        return known
    answer = checking.normalize(request, answer, via)
    if answer.verdict == Verdict.APPROVE:
        return known
    if checking.may_lack_reason(request, answer):
        known = replace(
            known, reason_required=reason_rules({request.tool_name}).apply_to(request)
        )
    value = checking.value_with_people(request, answer)
    if value is not ABSENT:
        known = replace(known, people=frozenset(usernames_in(value)))
    if answer.verdict == Verdict.EDIT and not checking.errors_of(
        request, answer, via, known
    ):
        known = replace(
            known,
            problem_of_change=problem_of_change(request, answer.edited_input) or "",
        )
    return known


def _change(request: ApprovalRequest, answer: Answer) -> ChangedInput | None:
    """Return the changed input of an answer, its own or the proposed one, for scope checks; None if there is none."""
    edited = answer.edited_input
    if edited is ABSENT and request.proposal:
        edited = request.proposal["input"]
    return None if edited is ABSENT else changes_of({request: edited})[request.pk]


def _absent(facts: DecisionFacts) -> User | None:
    """Return the person on whose behalf alone this one, who is limited by scopes, decides."""
    request = facts.request
    answer = checking.normalize(request, facts.sent.answer, facts.sent.via)
    # An edit without changes is about the original input.
    changed = bool(request.proposal) or answer.edited_input is not ABSENT
    seat = permissions.decides_for(
        facts.standing, request, facts.change if changed else None
    )
    return None if seat is None else User.objects.filter(pk=seat).first()


def _vote(facts: DecisionFacts) -> VoteFacts | None:
    """Read the facts for the outcome of a vote, as far as they matter.

    None if it is not on the current proposal, or not by someone who may decide it.
    """
    request = facts.request
    sent = facts.sent
    if (
        not checking.is_possible(request, sent.answer)
        or not permissions.may_close(facts.standing, request)
        or facts.about_another_input
    ):
        return None
    ballot = read_ballot(request)
    vote = VoteFacts(
        ballot=ballot,
        by=sent.by,
        via=sent.via,
        seats=permissions.seats(facts.standing, request),
        proposal=request.proposal,
        digest=request.voted_digest,
    )
    before = ballot.tally(request)
    if before.standing != Status.PENDING:
        return vote
    place = vote.place(before)
    if place is None:
        return replace(vote, names=names_for(ballot.terms))
    seat, stage = place
    if seat != sent.by.pk:
        vote = replace(vote, absent=User.objects.get(pk=seat))
    answer = checking.normalize(request, sent.answer, sent.via)
    if answer.verdict == Verdict.RESPOND:
        return vote
    vote = _with_proposal(vote, request, answer)
    new = new_vote(request, answer, vote, stage)
    if new.repeats or not (new.changes or vote.absent is not None):
        return vote
    # Who may vote depends on the input, and on who votes for others.
    electorate = electorate_of(
        request, ballot.terms, vote.proposal, vote.with_others(new.row)
    )
    return replace(vote, electorate=electorate)


def _with_proposal(
    vote: VoteFacts, request: ApprovalRequest, answer: Answer
) -> VoteFacts:
    """Return the facts of a vote after its changed input has replaced the proposal."""
    if answer.verdict != Verdict.EDIT or not checking.is_plain_input(
        answer.edited_input
    ):
        return vote
    digest = checking.approved_digest(request, answer)
    asked_again = digest.text == request.input_digest
    proposed = (
        None
        if asked_again
        else proposal(answer.edited_input, digest, vote.by.get_username())
    )
    return replace(vote, proposal=proposed, digest=digest.text)
