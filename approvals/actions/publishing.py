"""Publish an action: an audit entry and an outbox event in its transaction, a notification after its commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.conf import settings

from approvals.db.prepared_writes import Write, write_together
from approvals.db.transactions import after_commit
from approvals.json_types import JsonDict, JsonMapping
from approvals.live import doorbell
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.actors import Signatory
from approvals.models.attachments import files_of
from approvals.outbound import outbox
from approvals.record import audit
from approvals.text.secrets import mask_text

#: Members of the record that events contain too; those of advice also contain the priority that it raised.
_SENT = ("verdict", "comment", "for", "hint")


def publish_event(
    event: str,
    request: ApprovalRequest,
    workflow: Workflow,
    *,
    record: JsonMapping,
    actor: Signatory | None,
    via: str,
    at: datetime | None = None,
    calls: bool = False,
    changes: Sequence[Write] = (),
) -> None:
    """Put an event of a request on record, into the outbox and on open pages. The caller holds the lock of the workflow.

    `changes` are the event's rows, which are written with the record. `calls`: other people are now needed, and are notified.
    """
    subject = audit.subject_of(request, workflow, changed=record.get("edited_input"))
    waiting = workflow.open_count
    heard = audit.record(
        event,
        subject,
        data=record,
        actor=actor,
        via=via,
        at=at,
        open_after=waiting,
        changes=changes,
    )
    if _is_sent(request, heard=heard):
        _send(
            event,
            request,
            workflow,
            record=record,
            actor=actor,
            via=via,
            heard=heard,
            calls=calls,
        )
    message = {
        "type": "workflow.changed",
        "workflow": workflow.pk,
        "request": str(request.pk),
        "status": str(request.status),
    }
    _notify(
        message, (workflow.owner_id, request.requested_by_id, request.assigned_to_id)
    )


def _is_sent(request: ApprovalRequest, *, heard: bool) -> bool:
    """Return whether anyone gets events of a request: webhooks, people by rules, or handlers."""
    return bool(
        heard
        or request.callback_url
        or request.callback
        or settings.HITL_EVENT_HANDLERS
    )


def _send(
    event: str,
    request: ApprovalRequest,
    workflow: Workflow,
    *,
    record: JsonMapping,
    actor: Signatory | None,
    via: str,
    heard: bool,
    calls: bool,
) -> None:
    data = outbox.request_data(request, workflow) | {
        "by": actor.get_username() if actor else None,
        "via": via,
    }
    sent = (*_SENT, "priority") if event == "request.advised" else _SENT
    data |= {name: mask_text(record[name]) for name in sent if name in record}
    data |= {
        name: record[name] for name in ("break_glass", "more_votes") if name in record
    }
    stream = outbox.stream_of(workflow.scope, workflow.key)
    callback = request.callback_url
    outbox.enqueue(
        event,
        stream=stream,
        data=data,
        callback_url=callback,
        engine=_engine_of(request),
        heard=heard,
        notices=calls or event == "request.created",
    )


def publish_at_once(
    entries: Sequence[audit.Entry],
    request: ApprovalRequest,
    workflow: Workflow,
    *,
    changes: Sequence[Write],
    also: Sequence[audit.Entry] = (),
) -> bool:
    """Record a request that was stored as decided, and write its events to the outbox; notify no page and no person.

    `changes` are rows to write before the record. `also` are entries about other subjects, recorded with those of the request.
    Return whether anyone gets events.
    """
    subject = audit.subject_of(request, workflow)
    recorded = [*entries, *also]
    write_together(changes)
    heard = audit.record_together(
        recorded, subject, at=request.created_at, open_after=workflow.open_count
    )
    if not _is_sent(request, heard=heard):
        return heard
    stream = outbox.stream_of(workflow.scope, workflow.key)
    for entry in entries:
        data = outbox.request_data(request, workflow) | {
            "by": entry.actor.get_username() if entry.actor else None,
            "via": entry.via,
        }
        data |= {
            name: mask_text(entry.data[name])
            for name in ("verdict", "comment")
            if name in entry.data
        }
        callback = request.callback_url
        outbox.enqueue(
            entry.event,
            stream=stream,
            data=data,
            callback_url=callback,
            engine=_engine_of(request),
            automatic=True,
            heard=heard,
        )
    return heard


def _engine_of(request: ApprovalRequest) -> str:
    return request.callback["to"] if request.callback else ""


def rule_record(request: ApprovalRequest) -> JsonDict:
    """Return the record's members about the policy under which a request was made."""
    if request.policy_version is None:
        return {}
    earlier = {"repeats": str(request.repeats)} if request.repeats else {}
    others = {"other_rules": request.other_rules} if request.other_rules else {}
    return (
        {"policy_version": request.policy_version, "rule": request.rule}
        | others
        | earlier
    )


def request_record(request: ApprovalRequest) -> JsonDict:
    """Return the record's members about a new request."""
    names = ("kind", "title", "priority", "input", "input_digest")
    files = (
        {"attachments": [file.approved for file in files_of(request.attachments)]}
        if request.attachments
        else {}
    )
    return (
        {name: getattr(request, name) for name in names}
        | files
        | rule_record(request)
        | hidden_record(request)
    )


def decision_record(decision: Decision) -> JsonDict:
    """Return the record's members about a decision."""
    names = ("verdict", "comment", "edited_input", "approved_digest", "answer")
    record = {name: getattr(decision, name) for name in names} | {
        "priority": decision.request.priority
    }
    if decision.for_name is not None:
        record["for"] = decision.for_name
    if decision.break_glass:
        record["break_glass"] = True
    return record | hidden_record(decision.request)


def hidden_record(request: ApprovalRequest) -> JsonDict:
    """Return the hidden parts of these values, kept for after the request itself is pruned."""
    return {"secrets": request.secrets} if request.secrets else {}


def notify(workflow: Workflow, *people: int | None, request_id: str = "") -> None:
    """After the commit, notify the pages of those who see everything, of the owner and of `people`."""
    notify_of(workflow.pk, (workflow.owner_id, *people), request_id=request_id)


def notify_of(
    workflow_id: int, people: Iterable[int | None], *, request_id: str
) -> None:
    """As `notify`, with the owner among the `people`."""
    _notify(
        {"type": "workflow.changed", "workflow": workflow_id, "request": request_id},
        people,
    )


def publish_handling(
    event: str,
    request: ApprovalRequest,
    *,
    record: JsonMapping,
    actor: Signatory | None,
    via: str,
    people: Iterable[int | None] = (),
    comment: int | None = None,
) -> None:
    """Record a claim, assignment or comment, and show it on open pages.

    `people` are notified besides the requester and assignee; `comment` is the id of the comment.
    """
    audit.record(
        event,
        audit.subject_of(request, request.workflow),
        data=record,
        actor=actor,
        via=via,
    )
    message = {
        "type": "request.handled",
        "event": event,
        "request": str(request.pk),
        "comment": comment,
    }
    # The pages of a chat show the requests of its scope, and join no other group for them.
    more = (doorbell.scope_group(request.scope),)
    concerned = (
        request.workflow.owner_id,
        request.requested_by_id,
        request.assigned_to_id,
        *people,
    )
    _notify(message, concerned, more=more)


def _notify(
    message: Mapping[str, object],
    people: Iterable[int | None],
    more: Iterable[str] = (),
) -> None:
    groups = {
        doorbell.DESK,
        *(doorbell.user_group(pk) for pk in people if pk is not None),
        *more,
    }
    after_commit(doorbell.notify, groups, message)
