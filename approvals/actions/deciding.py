"""End requests: decided, cancelled, settled or expired. The only place that writes decisions."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Min, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals import signals
from approvals.access import permissions
from approvals.actions import publishing, rulings
from approvals.actions.counting import count_down
from approvals.actions.indexing import index_decision
from approvals.actions.locking import Locked, lock_request, lock_visible_request
from approvals.actions.publishing import publish_event
from approvals.asking.answers import ABSENT, Answer
from approvals.exceptions import AskedByOwnKey, Changed, CriticalElsewhere, NotAllowed, NotFound, Refusal
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.actors import Actor
from approvals.queries.requests import WHOLE_REQUEST
from approvals.runtime.canonical import clean_text
from approvals.runtime.transactions import after_commit
from approvals.states import (
    CLIENT,
    OUTCOMES,
    OWN_PAGES,
    PROGRAMS,
    TRANSITIONS,
    Door,
    Kind,
    Status,
    Verdict,
    WorkflowState,
)

EVENTS = {Verdict.CANCEL: "request.cancelled", Verdict.EXPIRE: "request.expired"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A request that has ended, as it is now, and its decision.

    `replayed`: the decision was there already, because the same person has decided the same before.
    """

    request: ApprovalRequest
    decision: Decision
    replayed: bool = False


def decide(
    request_id: UUID,
    answer: Answer,
    *,
    by: Actor,
    via: Door,
    shown_digest: str | None = None,
    seen: ApprovalRequest | None = None,
) -> Outcome:
    """End a request with a person's answer; the first decision wins.

    `shown_digest` is the digest of the input that the person was shown, None where nothing shows it. `seen` is the
    request if the caller has read it already. NotFound, NotAllowed, AskedByOwnKey, CriticalElsewhere (only the desk's
    own pages decide it), Changed (another input was shown), Invalid (the answer does not meet its schema),
    AlreadyDecided (names who was first), Expired.
    """
    answer = replace(answer, comment=clean_text(answer.comment.strip()))
    seen = _allowed(seen or WHOLE_REQUEST.first(pk=request_id), by)
    if permissions.asked_through_own_key(by, seen):
        raise AskedByOwnKey(seen)
    if not seen.pending:
        return _replay(seen, answer, by, via)
    # Checked before the lock, since a client's schema may take its time; what it is checked against never changes.
    checked = _checked(seen, answer, via, shown_digest)
    if isinstance(checked, Refusal) and seen.deadline_at is None:
        raise checked
    if not isinstance(checked, Refusal) and (decision := _end_as_seen(seen, checked, by=by, via=via)):
        return Outcome(seen, decision)
    with transaction.atomic():
        locked = lock_request(request_id)
        # Rights are checked again: one that was taken away meanwhile counts.
        request = _allowed(locked.request if locked else None, by)
        if locked and locked.overdue:
            _expire(locked)
        elif locked and request.pending:
            # Raised only now: had the deadline passed by the database's clock, that would be the reason to give.
            if isinstance(checked, Refusal):
                raise checked
            return Outcome(request, _end(locked, checked, by=by, via=via))
    # Outside the transaction: an expiry that was just written has to stay, whatever is raised about it.
    return _replay(request, answer, by, via)


def _allowed(request: ApprovalRequest | None, by: Actor) -> ApprovalRequest:
    """Return the request if this person may end it. NotFound, NotAllowed."""
    if request is None or not permissions.may_see(by, request):
        raise NotFound
    if not permissions.may_close(by, request):
        raise NotAllowed(_("You can see this request, but you cannot decide it."))
    return request


def _checked(request: ApprovalRequest, answer: Answer, via: Door, shown_digest: str | None) -> Answer | Refusal:
    """Return the answer as it may be stored, or why it may not."""
    if via not in OWN_PAGES and permissions.only_on_own_pages(request):
        return CriticalElsewhere(request)
    if shown_digest not in {None, request.input_digest}:
        return Changed(request.input_digest)
    try:
        return rulings.check(request, answer, via)
    except Refusal as refusal:
        return refusal


def _replay(request: ApprovalRequest, answer: Answer, by: Actor, via: Door) -> Outcome:
    """Return the decision of an ended request if this answer repeats it. AlreadyDecided, Expired."""
    if rulings.is_replay(request.decision, rulings.normalize(request, answer, via), by):
        return Outcome(request, request.decision, replayed=True)
    raise rulings.too_late(request.decision)


def cancel(request_id: UUID, *, by: Actor, via: Door, comment: str = "") -> Outcome:
    """Cancel a request. NotFound, NotAllowed, CriticalElsewhere (from the admin), Invalid, AlreadyDecided, Expired."""
    with transaction.atomic():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        if not permissions.may_cancel(by, request.requested_by_id):
            raise NotAllowed(_("Only the owner and people who can decide can cancel this request."))
        waits = request.pending and not locked.overdue
        if via == Door.ADMIN and waits and permissions.only_on_own_pages(request):
            raise CriticalElsewhere(request)
        answer = rulings.cancellation(comment)
        if waits:
            return Outcome(request, _end(locked, answer, by=by, via=via))
        if locked.overdue:
            _expire(locked)
    # Outside the transaction, as above.
    raise rulings.too_late(request.decision)


def cancel_requests(request_ids: Iterable[UUID], *, by: Actor | None, via: Door, comment: str) -> int:
    """Cancel whichever of these requests still wait, all of one workflow, because their work was stopped or has failed.

    Return how many have ended; one that is overdue expires instead. Without a check of rights, for the code that asked.
    """
    ended = 0
    with transaction.atomic():
        for request_id in sorted(request_ids):
            locked = lock_request(request_id)
            if locked is None or not locked.request.pending:
                continue
            if locked.overdue:
                _expire(locked)
            else:
                _end(locked, Answer(Verdict.CANCEL, comment=comment), by=by, via=via)
            ended += 1
    return ended


def settle(request_id: UUID, answer: Answer) -> None:
    """End a request, if it waits, because the fact it asked for arrived by itself: the late result of a tool."""
    with transaction.atomic():
        locked = lock_request(request_id)
        if locked is not None and locked.request.pending:
            _end(locked, answer, by=None, via=Door.SYSTEM)


def expire(request_id: UUID) -> bool:
    """End a request whose deadline has passed; False if it has not, or if the request has ended before."""
    with transaction.atomic():
        locked = lock_request(request_id)
        return locked is not None and expire_if_overdue(locked)


def expire_free(request_ids: Iterable[UUID]) -> set[UUID]:
    """End those of these requests whose deadline has passed, in one commit; return which.

    A request that another transaction has locked is left to it.
    """
    with transaction.atomic():
        free = (lock_request(request_id, wait=False) for request_id in request_ids)
        return {locked.request.pk for locked in free if locked is not None and expire_if_overdue(locked)}


def expire_if_overdue(locked: Locked) -> bool:
    """End a locked request if its deadline has passed; whether it did."""
    if locked.overdue:
        _expire(locked)
        return True
    return False


def _expire(locked: Locked) -> None:
    _end(locked, rulings.expiry_of(locked.request), by=None, via=Door.DEADLINE)


class _ChangedMeanwhile(Exception):
    """Rolls back what was begun for a request that is not as it was read."""


def _end_as_seen(seen: ApprovalRequest, answer: Answer, *, by: Actor, via: Door) -> Decision | None:
    """End a request without reading it again; None if it has ended, was reassigned or is overdue since it was read."""
    same = ApprovalRequest.objects.filter(assigned_to=seen.assigned_to_id)
    if seen.deadline_at is not None:
        same = same.filter(deadline_at__gt=Now())
    try:
        with transaction.atomic():
            return _end_among(same, seen, copy(seen.workflow), answer, by=by, via=via)
    except _ChangedMeanwhile:
        return None


def _end(locked: Locked, answer: Answer, *, by: Actor | None, via: Door) -> Decision:
    """Write the one decision of a pending request; the caller holds its lock inside a transaction."""
    try:
        return _end_among(ApprovalRequest.objects.all(), locked.request, locked.workflow, answer, by=by, via=via)
    except _ChangedMeanwhile as error:
        raise IntegrityError(f"request {locked.request.pk} was decided behind its lock") from error


def _end_among(
    among: QuerySet[ApprovalRequest],
    request: ApprovalRequest,
    workflow: Workflow,
    answer: Answer,
    *,
    by: Actor | None,
    via: Door,
) -> Decision:
    """End a pending request that is one of these. Raises _ChangedMeanwhile if it is not."""
    status = OUTCOMES[answer.verdict]
    assert status in TRANSITIONS[Status(request.status)]
    # Counted down first: the row of the workflow is the lock of everything that it asks.
    ends_as = _end_state(request, status) if _ends_by_itself(workflow, request) else None
    now = count_down(workflow, ends_as=ends_as)
    if now is None:
        raise _ChangedMeanwhile
    # The condition and the one-to-one row decide a race even where the database ignores row locks (SQLite).
    if not among.filter(pk=request.pk, status=Status.PENDING).update(status=status, changed_at=now):
        raise _ChangedMeanwhile
    request.status, request.changed_at, request.workflow = status, now, workflow
    if workflow.open_count:
        waiting = ApprovalRequest.objects.filter(workflow=workflow, status=Status.PENDING)
        workflow.urgency = waiting.aggregate(urgency=Min("urgency"))["urgency"]
        workflow.save(update_fields=["urgency"])
    elif workflow.ended:
        publishing.notify(workflow)
    decision = Decision.objects.create(
        request=request,
        verdict=answer.verdict,
        by_id=by.pk if by else None,
        by_name=by.get_username() if by else "",
        via=via,
        comment=answer.comment,
        edited_input=None if answer.edited_input is ABSENT else answer.edited_input,
        approved_digest=rulings.approved_digest(request, answer),
        answer=None if answer.answer is ABSENT else answer.answer,
        decided_at=now,
    )
    index_decision(decision)
    event = EVENTS.get(answer.verdict, "request.decided")
    record = publishing.decision_record(decision) | ({"unseen": answer.unseen} if answer.unseen else {})
    publish_event(event, request, workflow, record=record, actor=by, via=via, at=now)
    after_commit(signals.decided.send_robust, None, request_id=request.pk, source=workflow.source)
    return decision


def _end_state(request: ApprovalRequest, status: Status) -> WorkflowState:
    """Return how a workflow of one request ends: to the agent, a question without an answer is a failure."""
    if status == Status.CANCELLED:
        return WorkflowState.CANCELLED
    unanswered = status == Status.EXPIRED and not request.has_default and request.kind != Kind.APPROVAL
    return WorkflowState.FAILED if unanswered else WorkflowState.COMPLETED


def _ends_by_itself(workflow: Workflow, request: ApprovalRequest) -> bool:
    """Whether the workflow was made for one request, because its client named none: its key is the id of a request."""
    if workflow.source != CLIENT or workflow.key == str(request.pk):
        return workflow.source in PROGRAMS
    try:
        first = UUID(workflow.key)
    except ValueError:
        return False
    return workflow.requests.filter(pk=first).exists()
