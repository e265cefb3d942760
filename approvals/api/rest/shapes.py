"""Turn rows into documents, and documents into requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access.assignees import LAPSES, assignee_name, claimant
from approvals.api.rest.documents import (
    Brief,
    DecisionDocument,
    NewRequest,
    ReportDocument,
    RequestDocument,
    WorkflowDocument,
)
from approvals.api.rest.people_documents import CommentDocument, HandlingDocument
from approvals.asking import transcripts
from approvals.asking.answers import ABSENT
from approvals.asking.asks import Ask
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.comments import RequestComment
from approvals.states import Kind, Priority, Status, Verdict, WorkflowState


def ask_from(sent: NewRequest) -> Ask:
    """Return the request that a document describes. Raises Invalid for errors that concern several fields."""
    errors: dict[str, str] = {}
    if sent.timeout and sent.deadline:
        errors["deadline"] = _("send a timeout or a deadline, not both")
    if sent.kind == "form" and sent.response_schema is None:
        errors["response_schema"] = _("is required for a form")
    said_before = [message.model_dump() for message in sent.messages]
    if problem := transcripts.problem(said_before):
        errors["messages"] = problem
    if errors:
        raise Invalid(_("The request is invalid."), errors)
    return Ask(
        kind=Kind(sent.kind),
        title=sent.title,
        message=sent.message,
        tool_name=sent.tool_name,
        tool_call_id=sent.tool_call_id,
        input=sent.input,
        response_schema=sent.response_schema,
        options=[option.model_dump(exclude_none=True) for option in sent.options],
        multiple=sent.multiple,
        allow_text=sent.allow_text,
        field_name=sent.field_name,
        suggestions=sent.suggestions,
        context=sent.context,
        said_before=said_before,
        priority=Priority(sent.priority),
        deadline_at=timezone.now() + timedelta(milliseconds=sent.timeout) if sent.timeout else sent.deadline,
        default_response=sent.default_response if sent.has_default else ABSENT,
        step_path=sent.step_path,
        callback_url=sent.callback_url or "",
        assigned_to=None if sent.assigned_to is None else queries.user_named(sent.assigned_to),
    )


def brief(request: ApprovalRequest) -> Brief:
    return Brief(**_brief(request))


def _brief(request: ApprovalRequest) -> dict[str, Any]:
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
    }


def _claim(request: ApprovalRequest) -> dict[str, Any]:
    held = claimant(request, timezone.now()) is not None and request.pending and request.claimed_at is not None
    until = request.claimed_at + LAPSES if held and request.claimed_at else None
    return {"claimed_by": request.claimed_name if held else None, "claimed_until": until}


def handling(request: ApprovalRequest) -> HandlingDocument:
    assigned = assignee_name(request) or None
    return HandlingDocument(request_id=str(request.pk), assigned_to=assigned, **_claim(request))


def comment_document(said: RequestComment) -> CommentDocument:
    return CommentDocument(id=said.pk, by=said.by_name, via=said.via, text=said.text, at=said.at)


def document(request: ApprovalRequest) -> RequestDocument:
    names = ("message", "input", "input_digest", "response_schema", "options", "multiple", "allow_text", "field_name")
    more = ("suggestions", "context", "has_default", "default_response")
    return RequestDocument(
        **_brief(request),
        **{name: getattr(request, name) for name in names + more},
        messages=request.said_before,
        callback_url=request.callback_url or None,
        decision=None if request.status == Status.PENDING else decision(request, request.decision),
        result=report(request),
    )


def report(request: ApprovalRequest) -> ReportDocument | None:
    """Return what the call of a request has done, where the request was read with it."""
    if request.report is None:
        return None
    entry = json.loads(request.report)
    data = entry["data"]
    return ReportDocument(
        state=data["state"],
        output=data["output"],
        error=data["error_text"] or None,
        executed_digest=data["executed_digest"] or None,
        reported_at=entry["at"],
    )


def decision(request: ApprovalRequest, made: Decision) -> DecisionDocument:
    edited = made.verdict == Verdict.EDIT
    approved = bool(made.approved_digest)
    return DecisionDocument(
        verdict=Verdict(made.verdict),
        by=made.by_name or None,
        via=made.via,
        decided_at=made.decided_at,
        comment=made.comment,
        edited_input=made.edited_input,
        answer=made.answer,
        approved_input=(made.edited_input if edited else request.input) if approved else None,
        approved_digest=made.approved_digest or None,
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
        suspensions=[brief(step) for step in steps],
        more=more,
        started_at=workflow.started_at,
        suspended_at=workflow.suspended_at,
        ended_at=workflow.ended_at,
    )
