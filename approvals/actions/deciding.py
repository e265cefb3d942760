"""End a request before its deadline, by a decision, a cancellation, or the late arrival of the fact it asked for."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing, standing_of
from approvals.actions import attachments, checking
from approvals.actions.decisions.facts import (
    Sent,
    read_ended,
    read_facts,
    read_right,
    read_seen,
)
from approvals.actions.decisions.outcome import (
    Overdue,
    TooLate,
    outcome_of,
    refusal_of_right,
)
from approvals.actions.decisions.writes import Outcome, write
from approvals.actions.ending import end_request
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import (
    keep_sessions_of,
    lock_request,
    lock_visible_request,
)
from approvals.actions.policy.outcomes import EndedBefore, Refused
from approvals.asking.answered_files import brings_files, take_files
from approvals.asking.answers import ABSENT, Answer
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import in_transaction
from approvals.exceptions import CriticalElsewhere, NotAllowed
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.queries.requests import get_request_for
from approvals.states import ASKS, Door, Verdict


@dataclass(frozen=True, slots=True)
class EarlyFacts:
    """A request as the caller has read it before the lock, and their standing at that time."""

    request: ApprovalRequest
    by: Standing


def decide(
    request_id: UUID,
    answer: Answer,
    *,
    by: Actor,
    via: Door,
    shown_digest: str | None = None,
    seen: EarlyFacts | None = None,
) -> Outcome:
    """End a request with a person's answer, or count it as a vote if its terms need several; the first decision wins.

    `shown_digest` is the digest of the displayed input, None where nothing displays it. If the caller passes the request as
    `seen`, a wrong answer is refused without a lock. Writes, in this order (`decisions.writes`):

    - One person decides: the request and its workflow, the decision, its search words, the record, the events and open pages; the
      files of the answer; in place of votes, a notice to everyone concerned; and the grant given with it.
    - It is a vote: the vote, the request, the record, the events and open pages; then, if the votes are in, which of them
      counted, followed by the decision as above.
    - The deadline has passed, or the votes of others decide the request: that decision, and then this one is too late.
    - Refused, repeated or too late: nothing.

    Raise NotFound, NotAllowed, AskedByOwnKey, CriticalElsewhere (it can be decided only on the web pages), SignInAgain, Changed
    (another input was displayed), Invalid (the answer does not match its schema, or its grant is not possible), AlreadyDecided
    (by the decider it names), GrantMissed (the same decision, stored without this one's grant), or Expired.
    """
    answer = replace(answer, comment=clean_text(answer.comment.strip()))
    if (
        answer.answer is not ABSENT
        and brings_files(answer)
        and via not in checking.OWN_SHAPES
    ):
        # Not in the transactions of chats: a file is stored before its transaction.
        seen = seen or seen_by(by, request_id)
        answer = _with_files(seen, Sent(answer, by, via, shown_digest))
    sent = Sent(answer, by, via, shown_digest)
    waits = seen is not None and seen.request.pending
    # If the deadline has passed by the database's clock, that must be the reason given.
    if seen is not None and waits and seen.request.deadline_at is None:
        early = outcome_of(read_seen(seen.request, seen.by, sent))
        if isinstance(early, Refused):
            raise early.refusal
    files = list(answer.files.values()) if waits else []
    with attachments.stored(files) if files else nullcontext(), in_transaction():
        keep_sessions_of(by.pk)
        locked = lock_visible_request(request_id, by)
        facts = read_facts(locked, sent)
        ruling = outcome_of(facts)
        written = write(locked, ruling, sent, files)
        if isinstance(written, Outcome):
            return written
        if isinstance(ruling, Overdue | EndedBefore):
            # It has just ended; evaluate the outcome once more.
            ruling = outcome_of(read_ended(facts))
    # Outside the transaction, so that an expiry that was just written stays.
    if isinstance(ruling, Refused | TooLate):
        raise ruling.refusal
    return Outcome(locked.request, locked.request.decision, replayed=True)


def seen_by(by: Actor, request_id: UUID) -> EarlyFacts:
    """Return a request as a person sees it now, without a lock. Raise NotFound."""
    standing = standing_of(by)
    return EarlyFacts(get_request_for(standing, request_id), standing)


def _with_files(seen: EarlyFacts, sent: Sent) -> Answer:
    """Check the files of an answer if its author may answer. Raise NotAllowed, AskedByOwnKey or Invalid."""
    if seen.request.kind not in ASKS:
        return sent.answer
    refusal = refusal_of_right(read_right(seen.request, seen.by, sent))
    if refusal is not None:
        raise refusal
    return take_files(seen.request, sent.answer)


def cancel(request_id: UUID, *, by: Actor, via: Door, comment: str = "") -> Outcome:
    """Cancel a request. Raise NotFound, NotAllowed, CriticalElsewhere (from the admin), Invalid, AlreadyDecided or Expired."""
    with transaction.atomic():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        if not permissions.may_cancel(locked.standing, request):
            raise NotAllowed(
                _(
                    "Only the requester and people who can decide can cancel this request."
                )
            )
        waits = request.pending and not locked.overdue
        if via == Door.ADMIN and waits and permissions.only_on_own_pages(request):
            raise CriticalElsewhere(request)
        answer = checking.cancellation(comment)
        if waits:
            return Outcome(request, end_request(locked, answer, by=by, via=via))
        expire_if_overdue(locked)
    # Outside the transaction, as above.
    raise checking.too_late(request.decision)


def cancel_requests(
    request_ids: Iterable[UUID], *, by: Actor | None, via: Door, comment: str
) -> int:
    """Cancel the pending ones of these requests of one workflow, because their work was stopped or has failed.

    Return how many have ended; overdue ones expire instead. Rights are not checked: this is for the requesting code.
    """
    ended = 0
    with in_transaction():
        for request_id in sorted(request_ids):
            locked = lock_request(request_id)
            if locked is None or not locked.request.pending:
                continue
            if not expire_if_overdue(locked):
                end_request(
                    locked, Answer(Verdict.CANCEL, comment=comment), by=by, via=via
                )
            ended += 1
    return ended


def settle(request_id: UUID, answer: Answer) -> None:
    """End a pending request because the fact that it asked for arrived by itself: the late result of a tool."""
    with in_transaction():
        locked = lock_request(request_id)
        if locked is not None and locked.request.pending:
            end_request(locked, answer, by=None, via=Door.SYSTEM)
