"""End a request: its status, its one decision, and its workflow's counters. The only place that writes decisions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Min
from django.utils import timezone

from approvals import signals
from approvals.actions import checking, publishing, rows
from approvals.actions.locking import LockedRequest
from approvals.actions.publishing import publish_event
from approvals.actions.rows import words_of_decision
from approvals.asking.answers import ABSENT, Answer
from approvals.db.transactions import after_commit
from approvals.models import ApprovalRequest, Decision, Grant, Workflow
from approvals.models.actors import Signatory, recorded_account
from approvals.states import (
    APPROVING,
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


def end_request(
    locked: LockedRequest,
    answer: Answer,
    *,
    by: Signatory | None,
    via: Door,
    absent: Signatory | None = None,
    recounted: bool = False,
) -> Decision:
    """Write the one decision of a pending request; the caller holds its lock inside a transaction.

    `absent` is the person on whose behalf `by` decides, if any. `recounted`: no one has acted now; the right to vote has
    changed, and `by` gave the last of the deciding votes.
    """
    # Not the time from before the lock: open pages ask for changes since they were rendered.
    request = locked.request
    workflow = locked.workflow
    now = timezone.now()
    status = OUTCOMES[answer.verdict]
    assert status in TRANSITIONS[Status(request.status)]
    behind = f"request {request.pk} was decided behind its lock"
    request.status = status
    request.changed_at = now
    _count_down(request, workflow, now)
    decision = decision_on(request, answer, by=by, via=via, at=now, absent=absent)
    changes = [
        rows.END_REQUEST.of(
            pk=request.pk, status=status, changed_at=now, otherwise=behind
        ),
        rows.counted(workflow),
        rows.DECISION.of(decision),
        *words_of_decision(request, decision),
    ]
    record = publishing.decision_record(decision) | recorded_account(by)
    if answer.unseen:
        record["unseen"] = answer.unseen
    if recounted:
        record["recounted"] = True
    if request.halted:
        record["halted"] = True
    publish_event(
        EVENTS.get(answer.verdict, "request.decided"),
        request,
        workflow,
        record=record,
        actor=by,
        via=via,
        at=now,
        changes=changes,
    )
    after_commit(
        signals.decided.send_robust,
        None,
        request_id=request.pk,
        source=workflow.source,
        via=via,
    )
    return decision


def decision_on(
    request: ApprovalRequest,
    answer: Answer,
    *,
    by: Signatory | None,
    via: Door,
    at: datetime,
    grant: Grant | None = None,
    absent: Signatory | None = None,
) -> Decision:
    """Return the decision on a request, not stored yet."""
    unseen = None
    if via in OWN_PAGES and answer.verdict in APPROVING:
        # How many parts of the approved input were not in view, which only our own pages know.
        unseen = (answer.unseen or {}).get("parts", 0)
    digest = checking.approved_digest(request, answer)
    return Decision(
        request=request,
        verdict=answer.verdict,
        by_id=by.pk if by else None,
        by_name=by.get_username() if by else "",
        via=via,
        comment=answer.comment,
        edited_input=None if answer.edited_input is ABSENT else answer.edited_input,
        approved_digest=digest.text,
        digest_salt=digest.salt,
        answer=None if answer.answer is ABSENT else answer.answer,
        decided_at=at,
        grant=grant,
        grant_use=grant.used if grant else None,
        break_glass=answer.break_glass or None,
        for_id=absent.pk if absent else None,
        for_name=absent.get_username() if absent else None,
        unseen=unseen,
    )


def _count_down(request: ApprovalRequest, workflow: Workflow, now: datetime) -> None:
    """Subtract an ended request from its workflow's counters, and resume or end the workflow after the last; store nothing."""
    workflow.open_count -= 1
    if workflow.open_count:
        waiting = ApprovalRequest.objects.filter(
            workflow=workflow, status=Status.PENDING
        ).exclude(pk=request.pk)
        workflow.urgency = waiting.aggregate(urgency=Min("urgency"))["urgency"]
    else:
        workflow.urgency = workflow.suspended_at = None
        workflow.state = WorkflowState.RUNNING
        if _ends_by_itself(workflow, request):
            workflow.state = _end_state(request)
            workflow.ended_at = now
            publishing.notify(workflow)


def _end_state(request: ApprovalRequest) -> WorkflowState:
    """Return the end state of a workflow of one request: for the agent, an unanswered question is a failure."""
    if request.status == Status.CANCELLED or request.halted:
        return WorkflowState.CANCELLED
    unanswered = (
        request.status == Status.EXPIRED
        and not request.has_default
        and request.kind != Kind.APPROVAL
    )
    return WorkflowState.FAILED if unanswered else WorkflowState.COMPLETED


def _ends_by_itself(workflow: Workflow, request: ApprovalRequest) -> bool:
    """Return whether the workflow was created for one request, because its client named none: its key is a request's id."""
    if workflow.source != CLIENT or workflow.key == str(request.pk):
        return workflow.source in PROGRAMS
    try:
        first = UUID(workflow.key)
    except ValueError:
        return False
    return workflow.requests.filter(pk=first).exists()
