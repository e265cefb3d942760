"""What ends a request before its deadline: a decision, a cancellation, or the fact that it asked for."""

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
from approvals.actions.decisions.facts import Sent, read_ended, read_facts, read_right, read_seen
from approvals.actions.decisions.outcome import Overdue, TooLate, outcome_of, refusal_of_right
from approvals.actions.decisions.writes import Outcome, write
from approvals.actions.ending import end_request
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import lock_request, lock_visible_request
from approvals.actions.policy.decisions import Refused, Voted
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
    `seen`, a wrong answer is refused without a lock. What is written, in this order (`decisions.writes`):

    - One person decides: the request and its workflow, the decision, its search words, the record, the events and open pages;
      the files of the answer; in place of votes, a notice to everyone concerned; and the grant that is given with it.
    - It is a vote: the vote, the request, the record, the events and open pages; then the decision if the votes are in.
    - The deadline has passed, or the votes of others decide the request: that decision, and then this comes too late.
    - Refused, repeated or too late: nothing.

    NotFound, NotAllowed, AskedByOwnKey, CriticalElsewhere (only the desk's own pages decide it), SignInAgain, Changed (another
    input was shown), Invalid (the answer does not meet its schema, or the grant that it has is not possible), AlreadyDecided
    (names who was first), GrantMissed (the same decision, stored without the grant that this one has), Expired.
    """
    answer = replace(answer, comment=clean_text(answer.comment.strip()))
    if answer.answer is not ABSENT and brings_files(answer) and via not in checking.OWN_SHAPES:
        # Not in the transactions of chats: a file is stored before the one that it belongs to.
        seen = seen or seen_by(by, request_id)
        answer = _with_files(seen, Sent(answer, by, via, shown_digest))
    sent = Sent(answer, by, via, shown_digest)
    waits = seen is not None and seen.request.pending
    # If the deadline had passed by the clock of the database, that would be the reason to give.
    if seen is not None and waits and seen.request.deadline_at is None:
        _refuse_early(seen, sent)
    files = list(answer.files.values()) if waits else []
    with attachments.stored(files) if files else nullcontext(), in_transaction():
        locked = lock_visible_request(request_id, by)
        facts = read_facts(locked, sent)
        ruling = outcome_of(facts)
        written = write(locked, ruling, sent, files)
        if isinstance(written, Outcome):
            return written
        if isinstance(ruling, Overdue | Voted):
            # It has ended at this moment, of which the same function rules once more.
            ruling = outcome_of(read_ended(facts))
    # Outside the transaction: an expiry that was just written has to stay, whatever is raised about it.
    if isinstance(ruling, Refused | TooLate):
        raise ruling.refusal
    return Outcome(locked.request, locked.request.decision, replayed=True)


def seen_by(by: Actor, request_id: UUID) -> Seen:
    """Return a request as someone sees it now, without a lock. NotFound."""
    standing = standing_of(by)
    return Seen(get_request_for(standing, request_id), standing)


def _with_files(seen: Seen, sent: Sent) -> Answer:
    """Return the answer with its files checked, of those alone who may answer. NotAllowed, AskedByOwnKey, Invalid."""
    if seen.request.kind not in ASKS:
        return sent.answer
    refusal = refusal_of_right(read_right(seen.request, seen.by, sent))
    if refusal is not None:
        raise refusal
    return take_files(seen.request, sent.answer)


def _refuse_early(seen: Seen, sent: Sent) -> None:
    """Refuse a wrong answer to what a caller has seen, without a lock. A Refusal."""
    ruling = outcome_of(read_seen(seen.request, seen.by, sent))
    if isinstance(ruling, Refused):
        raise ruling.refusal


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
