"""How a request ends: decided, withdrawn, settled or expired; the one place that writes decisions."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Min, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import signals
from approvals.access import permissions
from approvals.actions import publishing, rulings
from approvals.actions.indexing import index_decision
from approvals.actions.publishing import tell
from approvals.actions.rulings import Ruling
from approvals.asking.asks import ABSENT
from approvals.exceptions import (
    AlreadyDecided,
    AskedByOwnKey,
    Changed,
    CriticalElsewhere,
    Expired,
    NotAllowed,
    NotFound,
)
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.actors import Actor
from approvals.runtime.canonical import clean_text
from approvals.states import (
    ASK_HUMAN,
    CLIENT,
    OUTCOMES,
    OWN_PAGES,
    TRANSITIONS,
    Door,
    Kind,
    Status,
    Verdict,
    WorkflowState,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, and whether it was there already (`replayed`: the same person said the same before)."""

    decision: Decision
    replayed: bool = False


def decide(
    request_id: UUID,
    *,
    by: Actor,
    via: Door,
    verdict: Verdict,
    comment: str = "",
    edited_input: Any = ABSENT,
    answer: Any = ABSENT,
    shown_digest: str | None = None,
) -> Outcome:
    """End a request with a person's verdict; the first one wins.

    `shown_digest` is the digest of the input that the person was shown. NotFound, NotAllowed, AskedByOwnKey,
    CriticalElsewhere (only the desk's own pages decide it), Changed (another input was shown), Invalid (the answer does
    not meet its schema), AlreadyDecided (names the winner), Expired.
    """
    ruling = Ruling(
        verdict=verdict, by=by, via=via, comment=clean_text(comment.strip()), edited_input=edited_input, answer=answer
    )
    # Before the lock: a client's schema may take its time, and nothing that it is checked against ever changes.
    seen = _closable(_timed().filter(pk=request_id).first(), by, via)
    fit = None
    if seen.pending and not _overdue(seen):
        if shown_digest not in {None, seen.input_digest}:
            raise Changed(seen.input_digest)
        fit = rulings.checked(seen, ruling)
    with transaction.atomic():
        request = _closable(locked(request_id), by, via)
        if request.pending and _overdue(request):
            _end(request, rulings.expiry_of(request))
        elif request.pending:
            return Outcome(_end(request, fit or rulings.checked(request, ruling)))
    # Outside the block: an expiry that was just written has to stay, whatever is raised about it.
    return Outcome(rulings.replayed(request.decision, rulings.normalised(request, ruling)), replayed=True)


def _closable(request: ApprovalRequest | None, by: Actor, via: Door) -> ApprovalRequest:
    if request is None or not permissions.may_see(by, request):
        raise NotFound
    if not permissions.may_close(by, request):
        raise NotAllowed(_("You can see this request, but you cannot decide it."))
    if permissions.asked_through_own_key(by, request):
        raise AskedByOwnKey(request)
    if via not in OWN_PAGES:
        _refuse_critical(request)
    return request


def _refuse_critical(request: ApprovalRequest) -> None:
    """What only the desk's own pages may end, while it can be ended."""
    if permissions.only_on_own_pages(request) and request.pending and not _overdue(request):
        raise CriticalElsewhere(request)


def cancel(request_id: UUID, *, by: Actor, via: Door, comment: str = "") -> Outcome:
    """Withdraw a request. NotFound, NotAllowed, CriticalElsewhere (from the admin), Invalid, AlreadyDecided, Expired."""
    with transaction.atomic():
        request = locked(request_id)
        if request is None or not permissions.may_see(by, request):
            raise NotFound
        if not permissions.may_cancel(by, request.requested_by_id):
            raise NotAllowed(_("Only the owner and people who can decide can cancel this request."))
        if via == Door.ADMIN:
            _refuse_critical(request)
        ruling = rulings.withdrawal(by=by, via=via, comment=comment)
        if request.pending and not _overdue(request):
            return Outcome(_end(request, ruling))
        if request.pending:
            _end(request, rulings.expiry_of(request))
    # Outside the block, as above.
    too_late = Expired if request.decision.verdict == Verdict.EXPIRE else AlreadyDecided
    raise too_late(request.decision)


def withdraw(request_ids: Iterable[UUID], *, by: Actor | None, via: Door, comment: str) -> int:
    """Cancel whichever of these, all of one workflow, are still open, and say how many: their work was stopped or failed.

    What is overdue ends by its deadline. For the code that asked.
    """
    withdrawn = 0
    with transaction.atomic():
        for request_id in sorted(request_ids):
            request = locked(request_id)
            if request is not None and request.pending:
                cancelled = Ruling(verdict=Verdict.CANCEL, by=by, via=via, comment=comment)
                _end(request, rulings.expiry_of(request) if _overdue(request) else cancelled)
                withdrawn += 1
    return withdrawn


def settle(request_id: UUID, *, verdict: Verdict, comment: str, answer: Any = ABSENT) -> None:
    """Close a request, if it is open, because the fact it asked for arrived by itself (a tool's late result)."""
    with transaction.atomic():
        request = locked(request_id)
        if request is not None and request.pending:
            _end(request, Ruling(verdict=verdict, by=None, via=Door.SYSTEM, comment=comment, answer=answer))


def expire(request_id: UUID, *, waits: bool = True) -> bool:
    """End a request whose deadline has passed; False if it has not, or if somebody was quicker.

    Without `waits`, a request that somebody else has locked is left to them.
    """
    with transaction.atomic():
        request = locked(request_id, waits=waits)
        if request is None or not request.pending or not _overdue(request):
            return False
        _end(request, rulings.expiry_of(request))
    return True


def locked(request_id: UUID, *, waits: bool = True) -> ApprovalRequest | None:
    """A request under its workflow's lock, and the database's time as `clock`; call it inside a transaction.

    None where there is none, or where somebody else holds the lock and it is not to be waited for.

    One lock for all that a workflow asks: whoever ends several requests of one cannot meet somebody half-way who ends
    them in another order. The request is read behind the lock, so it is seen as the last holder left it.
    """
    unlocked = Workflow.objects.select_for_update(of=("self",), no_key=True, skip_locked=not waits)
    workflow = unlocked.filter(requests=request_id).first()
    if workflow is None:
        return None
    request = _timed().get(pk=request_id)
    request.workflow = workflow
    return request


def hold_workflow(*, scope: str, key: str) -> Workflow | None:
    """Lock a workflow for the rest of the transaction; None if there is none (yet).

    Whoever tells events in a transaction before they touch the workflow calls this first: all take the workflow before
    the numbers of its events, so that no two wait for each other.
    """
    return Workflow.objects.select_for_update(no_key=True).filter(scope=scope, key=key).first()


def _timed() -> QuerySet[ApprovalRequest]:
    """Requests with the database's time as `clock`."""
    return ApprovalRequest.objects.defer("said_before").annotate(clock=Now())


def clock_of(request: ApprovalRequest) -> datetime:
    """Return the database's time when a request was read by `locked`: one clock for all processes, however theirs drift."""
    found: datetime = getattr(request, "clock")  # noqa: B009 - an annotation, unknown to the model's type
    return found


def _overdue(request: ApprovalRequest) -> bool:
    return request.deadline_at is not None and request.deadline_at <= clock_of(request)


def _end(request: ApprovalRequest, ruling: Ruling) -> Decision:
    """Write the one decision of a pending request; the caller holds its lock inside a transaction."""
    status, now = OUTCOMES[ruling.verdict], timezone.now()
    assert status in TRANSITIONS[Status(request.status)]
    # The condition and the one-to-one row decide a race even where the database ignores row locks (SQLite).
    if not ApprovalRequest.objects.filter(pk=request.pk, status=Status.PENDING).update(status=status, changed_at=now):
        raise IntegrityError(f"request {request.pk} was decided behind its lock")
    decision = Decision.objects.create(
        request_id=request.pk,
        verdict=ruling.verdict,
        by_id=ruling.by.pk if ruling.by else None,
        by_name=ruling.by.get_username() if ruling.by else "",
        via=ruling.via,
        comment=ruling.comment,
        edited_input=None if ruling.edited_input is ABSENT else ruling.edited_input,
        approved_digest=rulings.approved_digest(request, ruling),
        answer=None if ruling.answer is ABSENT else ruling.answer,
        decided_at=now,
    )
    index_decision(decision)
    request.status, request.changed_at, request.decision = status, now, decision
    _release(request)
    event = {Verdict.CANCEL: "request.cancelled", Verdict.EXPIRE: "request.expired"}.get(
        ruling.verdict, "request.decided"
    )
    tell(event, request, request.workflow, record=publishing.ended(decision), actor=ruling.by, via=ruling.via, at=now)
    transaction.on_commit(functools.partial(signals.decided.send_robust, None, request_id=request.pk), robust=True)
    return decision


def _release(request: ApprovalRequest) -> None:
    """Take an ended request off its workflow's counters; the workflow was read under its lock."""
    request.workflow.open_count -= 1
    left = ApprovalRequest.objects.filter(workflow=request.workflow_id, status=Status.PENDING)
    most_urgent = left.aggregate(urgency=Min("urgency"))["urgency"]
    changes: dict[str, Any] = {"urgency": most_urgent, "open_count": request.workflow.open_count}
    if most_urgent is None:
        changes |= {"state": WorkflowState.RUNNING, "suspended_at": None}
        if request.workflow.source == ASK_HUMAN or _ends_by_itself(request.workflow):
            changes |= {"state": _end_state(request), "ended_at": request.changed_at}
            publishing.ring(request.workflow)
    Workflow.objects.filter(pk=request.workflow_id).update(**changes)


def _end_state(request: ApprovalRequest) -> WorkflowState:
    """How a workflow of one request ends: a question that nobody answered is a failure to the agent."""
    if request.status == Status.CANCELLED:
        return WorkflowState.CANCELLED
    unanswered = request.status == Status.EXPIRED and not request.has_default and request.kind != Kind.APPROVAL
    return WorkflowState.FAILED if unanswered else WorkflowState.COMPLETED


def _ends_by_itself(workflow: Workflow) -> bool:
    """Whether the workflow was made for one request, because its client named none: it bears that request's id."""
    try:
        own = UUID(workflow.key)
    except ValueError:
        return False
    return workflow.source == CLIENT and workflow.requests.filter(pk=own).exists()
