"""End requests: decided, cancelled, settled or expired. The only place that writes decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Min
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import signals
from approvals.access import permissions
from approvals.actions import publishing, rows, rulings
from approvals.actions.indexing import index_decision
from approvals.actions.locking import Locked, lock_request, lock_visible_request
from approvals.actions.publishing import publish_event
from approvals.asking.answers import ABSENT, Answer
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import after_commit, in_transaction
from approvals.exceptions import AskedByOwnKey, Changed, CriticalElsewhere, NotAllowed
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.actors import Actor
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
    request if the caller has read it: a wrong answer is then refused without a lock. NotFound, NotAllowed, AskedByOwnKey,
    CriticalElsewhere (only the desk's own pages decide it), Changed (another input was shown), Invalid (the answer does
    not meet its schema), AlreadyDecided (names who was first), Expired.
    """
    answer = replace(answer, comment=clean_text(answer.comment.strip()))
    # If the deadline had passed by the clock of the database, that would be the reason to give.
    if seen is not None and seen.pending and seen.deadline_at is None:
        _require_right(seen, by)
        _checked(seen, answer, via, shown_digest)
    with in_transaction():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        _require_right(request, by)
        if request.pending and not expire_if_overdue(locked):
            checked = _checked(request, answer, via, shown_digest)
            return Outcome(request, _end(locked, checked, by=by, via=via))
    # Outside the transaction: an expiry that was just written has to stay, whatever is raised about it.
    if rulings.is_replay(request.decision, rulings.normalize(request, answer, via), by):
        return Outcome(request, request.decision, replayed=True)
    raise rulings.too_late(request.decision)


def _require_right(request: ApprovalRequest, by: Actor) -> None:
    """Raise NotAllowed or AskedByOwnKey if someone who sees this request may not end it."""
    if not permissions.may_close(by, request):
        raise NotAllowed(_("You can see this request, but you cannot decide it."))
    if permissions.asked_through_own_key(by, request):
        raise AskedByOwnKey(request)


def _checked(request: ApprovalRequest, answer: Answer, via: Door, shown_digest: str | None) -> Answer:
    """Return the answer as it is stored. CriticalElsewhere, Changed, Invalid."""
    if via not in OWN_PAGES and permissions.only_on_own_pages(request):
        raise CriticalElsewhere(request)
    if shown_digest not in {None, request.input_digest}:
        raise Changed(request.input_digest)
    return rulings.check(request, answer, via)


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
    with in_transaction():
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
    with in_transaction():
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


def _end(locked: Locked, answer: Answer, *, by: Actor | None, via: Door) -> Decision:
    """Write the one decision of a pending request; the caller holds its lock inside a transaction."""
    # Not the time from before the lock: open pages ask for what has changed since they were made.
    request, workflow, now = locked.request, locked.workflow, timezone.now()
    status = OUTCOMES[answer.verdict]
    assert status in TRANSITIONS[Status(request.status)]
    if not rows.END_REQUEST.run(pk=request.pk, status=status, changed_at=now):
        raise IntegrityError(f"request {request.pk} was decided behind its lock")
    request.status, request.changed_at = status, now
    _count_down(request, workflow, now)
    decision = Decision(
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
    rows.DECISION.save(decision)
    index_decision(decision)
    event = EVENTS.get(answer.verdict, "request.decided")
    record = publishing.decision_record(decision) | ({"unseen": answer.unseen} if answer.unseen else {})
    publish_event(event, request, workflow, record=record, actor=by, via=via, at=now)
    after_commit(signals.decided.send_robust, None, request_id=request.pk, source=workflow.source)
    return decision


def _count_down(request: ApprovalRequest, workflow: Workflow, now: datetime) -> None:
    """Take a request that has ended off the count of its workflow, which runs on or ends with the last one."""
    workflow.open_count -= 1
    if workflow.open_count:
        waiting = ApprovalRequest.objects.filter(workflow=workflow, status=Status.PENDING)
        workflow.urgency = waiting.aggregate(urgency=Min("urgency"))["urgency"]
    else:
        workflow.urgency = workflow.suspended_at = None
        workflow.state = WorkflowState.RUNNING
        if _ends_by_itself(workflow, request):
            workflow.state, workflow.ended_at = _end_state(request), now
            publishing.notify(workflow)
    rows.count(workflow)


def _end_state(request: ApprovalRequest) -> WorkflowState:
    """Return how a workflow of one request ends: to the agent, a question without an answer is a failure."""
    if request.status == Status.CANCELLED:
        return WorkflowState.CANCELLED
    unanswered = request.status == Status.EXPIRED and not request.has_default and request.kind != Kind.APPROVAL
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
