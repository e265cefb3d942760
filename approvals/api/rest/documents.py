"""Documents for clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel, Field

from approvals.access.assignees import LAPSES, assignee_name, claimant
from approvals.api.bodies import Moment
from approvals.api.outcomes import (
    DecisionDocument,
    ReadRequest,
    ReportDocument,
    RuleDocument,
    decision,
    report,
    rule_of,
)
from approvals.api.rest.people_documents import CommentDocument, HandlingDocument
from approvals.api.votes import VotesDocument, votes_document
from approvals.json_types import JsonDict
from approvals.models import Advice, ApprovalRequest, Workflow
from approvals.models.attachments import public_documents
from approvals.models.comments import RequestComment
from approvals.queries.attention.advice import advice_on
from approvals.queries.policy.deciders import warnings_of
from approvals.queries.policy.votes.ballots import progress_of
from approvals.states import Hint, Kind, Priority, Status, WorkflowState
from approvals.text.secrets import mask_text


class Brief(BaseModel):
    """A request in a list."""

    id: str
    url: str = Field(description="The page where people answer.")
    workflow_id: str
    scope: str
    step_path: list[str]
    thread_id: str
    agent: str
    kind: Kind
    title: str
    tool_name: str
    tool_call_id: str | None
    priority: Priority
    status: Status
    requested_by: str
    on_behalf_of: str = Field(
        description="The subject of the issuer's token that its agent acted for; empty without one."
    )
    assigned_to: str | None
    claimed_by: str | None = Field(
        description="The user who is working on it; null after the claim has expired."
    )
    claimed_until: Moment | None
    created_at: Moment
    changed_at: Moment
    deadline_at: Moment | None
    progress: str | None = Field(
        description="Its votes so far, in words, such as `1 of 2, finance missing`; null if one person decides it, or "
        "once it is decided."
    )
    rule: RuleDocument | None = Field(
        description="The policy rule under which it was requested or decided; null without one."
    )


class AttachmentDocument(BaseModel):
    name: str
    media_type: str
    size: int = Field(description="Bytes.")
    sha256: str = Field(description="The digest of the content, in hexadecimal digits.")
    url: str = Field(description="The URL of its content.")


class AdviceDocument(BaseModel):
    """The advice of a program on a request. It is not a decision."""

    id: int
    by: str = Field(description="`API key NAME of USER`.")
    hint: Hint
    text: str
    raised_from: Priority | None = Field(
        description="The priority before it was raised; null if it was not."
    )
    raised_to: Priority | None
    more_votes: int | None = Field(
        description="How many more approvals it requires; null if none."
    )
    at: Moment


class CallbackDocument(BaseModel):
    to: str
    id: str


class RequestDocument(Brief):
    message: str
    input: JsonDict
    input_digest: str
    digest_salt: str | None = Field(
        description="The `salt` in the text of `input_digest`. Null if nothing in the input is hidden, and for programs "
        "that read masks instead."
    )
    response_schema: JsonDict | None
    options: list[JsonDict]
    multiple: bool
    allow_text: bool
    field_name: str
    suggestions: list[str]
    context: Any
    attachments: list[AttachmentDocument] = Field(
        description="Its files, which `input_digest` covers too."
    )
    messages: list[dict[str, str]] = Field(
        description="The conversation before the request, oldest first."
    )
    has_default: bool
    default_response: Any
    callback_url: str | None
    callback: CallbackDocument | None
    decision: DecisionDocument | None
    votes: VotesDocument | None = Field(description="Null if one person decides it.")
    result: ReportDocument | None = Field(
        description="The result of its call; null until one is reported."
    )
    warnings: list[str] = Field(
        description="Says that no one, or only superusers, may decide it; otherwise empty."
    )
    advice: list[AdviceDocument] = Field(
        description="Advice from programs, oldest first."
    )


class RequestPage(BaseModel):
    """Requests, newest first; `next` is the cursor of the next page."""

    items: list[Brief]
    next: str | None


class WorkflowDocument(BaseModel):
    """A workflow and its requests, oldest first; `more` says that it has more requests than are listed."""

    workflow_id: str
    url: str
    scope: str
    source: str
    title: str
    agent: str
    thread_id: str
    state: WorkflowState
    open_requests: int
    started_at: Moment
    suspended_at: Moment | None
    ended_at: Moment | None
    suspensions: list[Brief]
    more: bool


class ResultDocument(BaseModel):
    request_id: str
    tool_call_id: str
    state: Literal["succeeded", "failed"]


def briefs(requests: Sequence[ApprovalRequest]) -> list[Brief]:
    """Return requests as list items; read votes only if they decide a pending request."""
    progress = progress_of(requests)
    return [Brief(**_brief(request, progress.get(request.pk))) for request in requests]


def _brief(request: ApprovalRequest, progress: str | None) -> JsonDict:
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
        "on_behalf_of": request.on_behalf_of,
        "assigned_to": request.assigned_to.get_username()
        if request.assigned_to
        else None,
        **_claim(request),
        "created_at": request.created_at,
        "changed_at": request.changed_at,
        "deadline_at": request.deadline_at,
        "progress": progress,
        "rule": rule_of(request),
    }


def _claim(request: ApprovalRequest) -> JsonDict:
    if request.claimed_at is None:
        return {"claimed_by": None, "claimed_until": None}
    held = claimant(request, timezone.now()) is not None and request.pending
    until = request.claimed_at + LAPSES if held else None
    return {
        "claimed_by": request.claimed_name if held else None,
        "claimed_until": until,
    }


def handling(request: ApprovalRequest) -> HandlingDocument:
    assigned = assignee_name(request) or None
    return HandlingDocument(
        request_id=str(request.pk), assigned_to=assigned, **_claim(request)
    )


def comment_document(comment: RequestComment) -> CommentDocument:
    return CommentDocument(
        id=comment.pk,
        by=comment.by_name,
        via=comment.via,
        text=mask_text(comment.text),
        at=comment.at,
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


def document(
    request: ReadRequest, *, warnings: list[str] | None = None
) -> RequestDocument:
    """Return a whole request; `warnings` if they were read already."""
    row = request.row
    names = (
        "title",
        "message",
        "input",
        "input_digest",
        "response_schema",
        "options",
        "multiple",
        "allow_text",
        "field_name",
    )
    more = ("suggestions", "context", "has_default", "default_response")
    votes = votes_document(request) if row.terms else None
    return RequestDocument(
        **_brief(row, votes.progress if votes is not None and row.pending else None)
        | request.columns(names + more),
        digest_salt=None if request.masks else row.digest_salt or None,
        attachments=[AttachmentDocument(**file) for file in public_documents(row)]
        if row.attachments
        else [],
        messages=request.columns(["said_before"])["said_before"],
        callback_url=row.callback_url or None,
        callback=CallbackDocument(**row.callback) if row.callback else None,
        decision=None
        if row.status == Status.PENDING
        else decision(request, row.decision),
        votes=votes,
        result=report(request),
        warnings=warnings_of(row) if warnings is None else warnings,
        advice=[advice_document(advice) for advice in advice_on(row)]
        if row.advised
        else [],
    )


def workflow_document(
    workflow: Workflow, steps: Sequence[ApprovalRequest], *, waiting: int, more: bool
) -> WorkflowDocument:
    """Return the document of a workflow; `steps` and `waiting` count only requests that the client may see."""
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
