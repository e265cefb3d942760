"""End a request: its status, its one decision, and the count of its workflow. The only place that writes decisions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Min
from django.utils import timezone

from approvals import signals
from approvals.actions import checking, publishing, rows
from approvals.actions.indexing import index_decision
from approvals.actions.locking import Locked
from approvals.actions.publishing import publish_event
from approvals.asking.answers import ABSENT, Answer
from approvals.db.transactions import after_commit
from approvals.models import ApprovalRequest, Decision, Grant, Workflow
from approvals.models.actors import Signatory
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


def end_request(
    locked: Locked,
    answer: Answer,
    *,
    by: Signatory | None,
    via: Door,
    absent: Signatory | None = None,
    recounted: bool = False,
) -> Decision:
    """Write the one decision of a pending request; the caller holds its lock inside a transaction.

    `absent` is for whom it is decided, if not in the right of `by`. `recounted` says that no one has acted now: who may vote has
    changed, and `by` gave the last of the votes that decide it.
    """
    # Not the time from before the lock: open pages ask for what has changed since they were made.
    request, workflow, now = locked.request, locked.workflow, timezone.now()
    status = OUTCOMES[answer.verdict]
    assert status in TRANSITIONS[Status(request.status)]
    if not rows.END_REQUEST.run(pk=request.pk, status=status, changed_at=now):
        raise IntegrityError(f"request {request.pk} was decided behind its lock")
    request.status, request.changed_at = status, now
    _count_down(request, workflow, now)
    decision = decision_on(request, answer, by=by, via=via, at=now, absent=absent)
    rows.DECISION.save(decision)
    index_decision(request, decision)
    event = EVENTS.get(answer.verdict, "request.decided")
    record = publishing.decision_record(decision) | ({"unseen": answer.unseen} if answer.unseen else {})
    if absent is not None:
        record["for"] = absent.get_username()
    if answer.break_glass:
        record |= {"break_glass": True}
    if recounted:
        record |= {"recounted": True}
    if request.halted:
        record |= {"halted": True}
    publish_event(event, request, workflow, record=record, actor=by, via=via, at=now)
    after_commit(signals.decided.send_robust, None, request_id=request.pk, source=workflow.source, via=via)
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
    """Return the decision on a request, which is not stored yet."""
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
        unseen=_unseen(answer, via),
    )


def _unseen(answer: Answer, via: Door) -> int | None:
    """Return how many parts of an approved input were not in view; None where no page of ours showed it."""
    if via not in OWN_PAGES or answer.verdict not in {Verdict.APPROVE, Verdict.EDIT}:
        return None
    return (answer.unseen or {}).get("parts", 0)


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
    if request.status == Status.CANCELLED or request.halted:
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
