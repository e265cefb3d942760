"""What ends a request before its deadline: a decision, a cancellation, or the fact that it asked for."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.fresh_sign_in import require_fresh_sign_in
from approvals.access.scopes import Change
from approvals.access.standing import Standing, standing_of
from approvals.actions import attachments, checking, voting
from approvals.actions.ending import end_request
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import lock_request, lock_visible_request
from approvals.actions.policy.giving import give_grant, require_grantable, was_given
from approvals.asking.answered_files import brings_files, take_files
from approvals.asking.answers import ABSENT, Answer
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import in_transaction
from approvals.exceptions import AskedByOwnKey, Changed, CriticalElsewhere, GrantMissed, Invalid, NotAllowed
from approvals.models import ApprovalRequest, Decision, Vote
from approvals.models.actors import Actor
from approvals.queries.policy.ballots import takes_votes
from approvals.queries.policy.proposals import as_proposed
from approvals.queries.policy.scopes import changes_of
from approvals.queries.policy.why_not import edit_words, why_not
from approvals.queries.requests import get_request_for
from approvals.states import ASKS, OWN_PAGES, Door, Verdict


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
class Seen:
    """A request as a caller has read it before the lock, and their standing at that time."""

    request: ApprovalRequest
    by: Standing


def decide(
    request_id: UUID,
    answer: Answer,
    *,
    by: Actor,
    via: Door,
    shown_digest: str | None = None,
    seen: Seen | None = None,
) -> Outcome:
    """End a request with a person's answer, or count it as their vote if its terms need several; the first decision wins.

    `shown_digest` is the digest of the input that the person was shown, None where nothing shows it. With what the caller has
    `seen`, a wrong answer is refused without a lock. NotFound, NotAllowed, AskedByOwnKey,
    CriticalElsewhere (only the desk's own pages decide it), SignInAgain, Changed (another input was shown), Invalid (the
    answer does not meet its schema, or the grant that it has is not possible), AlreadyDecided (names who was first),
    GrantMissed (the same decision, stored without the grant that this one has), Expired.
    """
    answer = replace(answer, comment=clean_text(answer.comment.strip()))
    if brings_files(answer) and via not in checking.OWN_SHAPES:
        # Not in the transactions of chats: a file is stored before the one that it belongs to.
        seen = seen or seen_by(by, request_id)
        answer = _with_files(seen, answer)
    # If the deadline had passed by the clock of the database, that would be the reason to give.
    waits = seen is not None and seen.request.pending
    if seen is not None and waits and seen.request.deadline_at is None:
        _require_right(seen.request, seen.by, answer)
        _checked(seen.request, answer, via, shown_digest)
    new_files = list(answer.files.values()) if waits else []
    with attachments.stored(new_files) if new_files else nullcontext(), in_transaction():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        _require_right(request, locked.standing, answer)
        if request.pending and not expire_if_overdue(locked):
            checked = _checked(request, answer, via, shown_digest)
            absent = _absent(locked.standing, request, checked)
            case = None if checked.grant is None else require_grantable(locked, checked)
            if takes_votes(request) and not checked.break_glass:
                counted = voting.vote(locked, checked, by=by, via=via)
                if not counted.ended_before:
                    return Outcome(request, counted.decision, counted.replayed, counted.vote)
            else:
                decision = end_request(locked, voting.final_answer(request, checked), by=by, via=via, absent=absent)
                attachments.attach(request, new_files)
                if checked.break_glass:
                    voting.tell_of_lone_decision(request, by=by)
                if checked.grant is not None and case is not None:
                    give_grant(locked, checked.grant, case, by=by, via=via)
                return Outcome(request, decision)
    # Outside the transaction: an expiry that was just written has to stay, whatever is raised about it.
    answer = checking.normalize(request, answer, via)
    if checking.is_replay(request, answer, by) or (takes_votes(request) and voting.is_vote_replay(request, answer, by)):
        if answer.grant is not None and not was_given(request, answer.grant):
            raise GrantMissed(request.decision)
        return Outcome(request, request.decision, replayed=True)
    raise checking.too_late(request.decision)


def seen_by(by: Actor, request_id: UUID) -> Seen:
    """Return a request as someone sees it now, without a lock. NotFound."""
    standing = standing_of(by)
    return Seen(get_request_for(standing, request_id), standing)


def _with_files(seen: Seen, answer: Answer) -> Answer:
    """Return the answer with its files checked, of those alone who may answer. NotAllowed, AskedByOwnKey, Invalid."""
    if seen.request.kind not in ASKS:
        return answer
    _require_right(seen.request, seen.by, answer)
    return take_files(seen.request, answer)


def _require_right(request: ApprovalRequest, by: Standing, answer: Answer) -> None:
    """Raise NotAllowed or AskedByOwnKey if someone who sees this request may not end it, or not with this input."""
    if not permissions.may_close(by, request):
        raise NotAllowed(why_not(by, request))
    change = _change(request, answer)
    if change is not None and not permissions.may_change_input(by, request, change):
        raise NotAllowed(edit_words(by, request, change))
    if answer.break_glass and not (takes_votes(request) and permissions.may_break_glass(by, request)):
        raise NotAllowed(_("You cannot decide this request alone."))
    if permissions.asked_through_own_key(by, request):
        raise AskedByOwnKey(request)


def _change(request: ApprovalRequest, answer: Answer) -> Change | None:
    """Return what scopes say of the changed input that an answer is about, its own or the proposed one; None without one."""
    edited = request.proposal["input"] if request.proposal else ABSENT
    edited = edited if answer.edited_input is ABSENT else answer.edited_input
    return None if edited is ABSENT else changes_of({request: edited})[request.pk]


def _absent(by: Standing, request: ApprovalRequest, answer: Answer) -> User | None:
    """Return the person in whose absence alone this one decides. Invalid for a grant, which would outlast the absence."""
    seat = permissions.decides_for(by, request, _change(request, answer))
    absent = None if seat is None else User.objects.filter(pk=seat).first()
    if absent is not None and answer.grant is not None:
        message = _("You decide this for %(name)s, who is away. Approve it without a grant.")
        problem = _("is not possible for someone who is away")
        raise Invalid(message % {"name": absent.get_username()}, {"grant": problem})
    return absent


def _checked(request: ApprovalRequest, answer: Answer, via: Door, shown_digest: str | None) -> Answer:
    """Return the answer as it is stored. CriticalElsewhere, SignInAgain, Changed, Invalid."""
    if via not in OWN_PAGES and permissions.only_on_own_pages(request):
        raise CriticalElsewhere(request)
    require_fresh_sign_in(request, answer.signed_in_at, via)
    # Whoever does not say what they were shown has seen the input that was asked.
    if (request.input_digest if shown_digest is None else shown_digest) != request.voted_digest:
        raise Changed(request.voted_digest)
    return checking.check(as_proposed(request), answer, via)


def cancel(request_id: UUID, *, by: Actor, via: Door, comment: str = "") -> Outcome:
    """Cancel a request. NotFound, NotAllowed, CriticalElsewhere (from the admin), Invalid, AlreadyDecided, Expired."""
    with transaction.atomic():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        if not permissions.may_cancel(locked.standing, request):
            raise NotAllowed(_("Only the owner and people who can decide can cancel this request."))
        waits = request.pending and not locked.overdue
        if via == Door.ADMIN and waits and permissions.only_on_own_pages(request):
            raise CriticalElsewhere(request)
        answer = checking.cancellation(comment)
        if waits:
            return Outcome(request, end_request(locked, answer, by=by, via=via))
        expire_if_overdue(locked)
    # Outside the transaction, as above.
    raise checking.too_late(request.decision)


def cancel_requests(request_ids: Iterable[UUID], *, by: Actor | None, via: Door, comment: str) -> int:
    """Cancel whichever of these requests still wait, all of one workflow, because their work was stopped or has failed.

    Return how many have ended; one that is overdue expires instead. Without a check of rights, for the code that asked.
    """
    ended = 0
    with in_transaction():
        for request_id in sorted(request_ids):
            locked = lock_request(request_id)
            if locked is None or not locked.request.pending:
                continue
            if not expire_if_overdue(locked):
                end_request(locked, Answer(Verdict.CANCEL, comment=comment), by=by, via=via)
            ended += 1
    return ended


def settle(request_id: UUID, answer: Answer) -> None:
    """End a request, if it waits, because the fact it asked for arrived by itself: the late result of a tool."""
    with in_transaction():
        locked = lock_request(request_id)
        if locked is not None and locked.request.pending:
            end_request(locked, answer, by=None, via=Door.SYSTEM)
