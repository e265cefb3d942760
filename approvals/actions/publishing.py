"""Publish what an action did: an audit entry and an outbox event in its transaction, a notification after its commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from approvals.db.transactions import after_commit
from approvals.live import doorbell
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.actors import Signatory
from approvals.models.attachments import files_of
from approvals.outbound import outbox
from approvals.record import audit
from approvals.text.secrets import mask_text


def publish_event(
    event: str,
    request: ApprovalRequest,
    workflow: Workflow,
    *,
    record: Mapping[str, Any],
    actor: Signatory | None,
    via: str,
    at: datetime | None = None,
) -> None:
    """Put an event of a request on record, into the outbox and on open pages. The caller holds the lock of the workflow."""
    subject = audit.subject_of(request, workflow, changed=record.get("edited_input"))
    waiting = workflow.open_count
    heard = audit.record(event, subject, data=record, actor=actor, via=via, at=at, open_after=waiting)
    data = outbox.request_data(request, workflow) | {"by": actor.get_username() if actor else None, "via": via}
    data |= {name: mask_text(record[name]) for name in ("verdict", "comment", "for") if name in record}
    stream = outbox.stream_of(workflow.scope, workflow.key)
    outbox.enqueue(event, stream=stream, data=data, callback_url=request.callback_url, heard=heard)
    message = {
        "type": "workflow.changed",
        "workflow": workflow.pk,
        "request": str(request.pk),
        "status": str(request.status),
    }
    _notify(message, workflow, request.requested_by_id, request.assigned_to_id)


def request_record(request: ApprovalRequest) -> dict[str, Any]:
    """Return what the record keeps of a new request."""
    names = ("kind", "title", "input", "input_digest")
    files = [file.approved for file in files_of(request)]
    return (
        {name: getattr(request, name) for name in names}
        | ({"attachments": files} if files else {})
        | hidden_record(request)
    )


def decision_record(decision: Decision) -> dict[str, Any]:
    """Return what the record keeps of a decision."""
    names = ("verdict", "comment", "edited_input", "approved_digest", "answer")
    return {name: getattr(decision, name) for name in names} | hidden_record(decision.request)


def hidden_record(request: ApprovalRequest) -> dict[str, Any]:
    """Return what of these values people do not see, also when the request itself has been pruned."""
    return {"secrets": request.secrets} if request.secrets else {}


def notify(workflow: Workflow, *people: int | None, request_id: str = "") -> None:
    """After the commit, notify the pages of those who see everything, of the owner and of `people`."""
    _notify({"type": "workflow.changed", "workflow": workflow.pk, "request": request_id}, workflow, *people)


def publish_handling(
    event: str,
    request: ApprovalRequest,
    *,
    record: Mapping[str, Any],
    actor: Signatory | None,
    via: str,
    people: Iterable[int | None] = (),
    comment: int | None = None,
) -> None:
    """Put on record, and on open pages, that a request was claimed, assigned or commented on.

    `people` are notified besides its requester and assignee; `comment` is the id of the comment.
    """
    audit.record(event, audit.subject_of(request, request.workflow), data=record, actor=actor, via=via)
    message = {"type": "request.handled", "event": event, "request": str(request.pk), "comment": comment}
    # The pages of a chat show the requests of its scope, and join no other group for them.
    more = (doorbell.scope_group(request.scope),)
    _notify(message, request.workflow, request.requested_by_id, request.assigned_to_id, *people, more=more)


def _notify(message: Mapping[str, object], workflow: Workflow, *people: int | None, more: Iterable[str] = ()) -> None:
    groups = {doorbell.DESK, *(doorbell.user_group(pk) for pk in (workflow.owner_id, *people) if pk is not None), *more}

    def now() -> None:
        for group in groups:
            doorbell.notify(group, message)

    after_commit(now)
