"""Turn rows into documents, and documents into requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from approvals.access.assignees import LAPSES, assignee_name, claimant
from approvals.api.outcomes import decision, report, rule_of
from approvals.api.rest.documents import (
    AdviceDocument,
    AttachmentDocument,
    Brief,
    RequestDocument,
    WorkflowDocument,
)
from approvals.api.rest.people_documents import CommentDocument, HandlingDocument
from approvals.api.votes import votes_document
from approvals.models import Advice, ApprovalRequest, Workflow
from approvals.models.attachments import public_documents
from approvals.models.comments import RequestComment
from approvals.queries.attention.advice import advice_on
from approvals.queries.policy.ballots import progress_of
from approvals.queries.policy.deciders import warnings_of
from approvals.states import Hint, Priority, Status, WorkflowState
from approvals.text.secrets import mask_text


def briefs(requests: Sequence[ApprovalRequest]) -> list[Brief]:
    """Return requests as a list shows them; votes are read only if a request that waits is decided by them."""
    progress = progress_of(requests)
    return [Brief(**_brief(request, progress.get(request.pk))) for request in requests]


def _brief(request: ApprovalRequest, progress: str | None) -> dict[str, Any]:
    return {
        "id": str(request.pk),
        "url": request.public_url,
        "workflow_id": request.workflow.key,
        "scope": request.scope,
        "step_path": request.step_path,
        "thread_id": request.workflow.thread_id,
        "agent": request.workflow.agent,
        "kind": request.kind,
        "title": request.title,
        "tool_name": request.tool_name,
        "tool_call_id": request.tool_call_id,
        "priority": request.priority,
        "status": request.status,
        "requested_by": request.requested_by.get_username(),
        "assigned_to": request.assigned_to.get_username() if request.assigned_to else None,
        **_claim(request),
        "created_at": request.created_at,
        "changed_at": request.changed_at,
        "deadline_at": request.deadline_at,
        "progress": progress,
        "rule": rule_of(request),
    }


def _claim(request: ApprovalRequest) -> dict[str, Any]:
    if request.claimed_at is None:
        return {"claimed_by": None, "claimed_until": None}
    held = claimant(request, timezone.now()) is not None and request.pending
    until = request.claimed_at + LAPSES if held else None
    return {"claimed_by": request.claimed_name if held else None, "claimed_until": until}


def handling(request: ApprovalRequest) -> HandlingDocument:
    assigned = assignee_name(request) or None
    return HandlingDocument(request_id=str(request.pk), assigned_to=assigned, **_claim(request))


def comment_document(comment: RequestComment) -> CommentDocument:
    return CommentDocument(
        id=comment.pk, by=comment.by_name, via=comment.via, text=mask_text(comment.text), at=comment.at
    )


def advice_document(advice: Advice) -> AdviceDocument:
    raised = bool(advice.raised_from)
    return AdviceDocument(
        id=advice.pk,
        by=advice.by_name,
        hint=Hint(advice.hint),
        text=mask_text(advice.text),
        raised_from=Priority(advice.raised_from) if raised else None,
        raised_to=Priority(advice.priority) if raised else None,
        more_votes=advice.more_votes,
        at=advice.at,
    )


def document(request: ApprovalRequest, *, warnings: list[str] | None = None) -> RequestDocument:
    """Return a whole request; `warnings` if they were read already."""
    names = ("message", "input", "input_digest", "response_schema", "options", "multiple", "allow_text", "field_name")
    more = ("suggestions", "context", "has_default", "default_response")
    votes = votes_document(request) if request.terms else None
    return RequestDocument(
        **_brief(request, votes.progress if votes is not None and request.pending else None),
        **{name: getattr(request, name) for name in names + more},
        digest_salt=None if request.is_masked else request.digest_salt or None,
        attachments=[AttachmentDocument(**file) for file in public_documents(request)] if request.attachments else [],
        messages=request.said_before,
        callback_url=request.callback_url or None,
        decision=None if request.status == Status.PENDING else decision(request, request.decision),
        votes=votes,
        result=report(request),
        warnings=warnings_of(request) if warnings is None else warnings,
        advice=[advice_document(advice) for advice in advice_on(request)] if request.advised else [],
    )


def workflow_document(
    workflow: Workflow, steps: Sequence[ApprovalRequest], *, waiting: int, more: bool
) -> WorkflowDocument:
    """Return the document of a workflow; `steps` and `waiting` are those that the client may see."""
    return WorkflowDocument(
        workflow_id=workflow.key,
        url=settings.PUBLIC_URL + workflow.get_absolute_url(),
        scope=workflow.scope,
        source=workflow.source,
        title=workflow.shown_title,
        agent=workflow.agent,
        thread_id=workflow.thread_id,
        state=WorkflowState(workflow.state),
        open_requests=waiting,
        suspensions=briefs(steps),
        more=more,
        started_at=workflow.started_at,
        suspended_at=workflow.suspended_at,
        ended_at=workflow.ended_at,
    )
