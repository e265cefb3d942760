"""Take a decision to its engine, and record it if the engine did not take it or may have taken it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import connections, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.actions.callbacks.calls import (
    ConversationLost,
    UnreadableSecret,
    converse,
    target_of,
)
from approvals.actions.publishing import notify
from approvals.db.canonical_json import utc
from approvals.engines.calls import DeliveryResult, EngineReading
from approvals.engines.kinds import ENGINES
from approvals.exceptions import outcome_of
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest, Decision, OutboxEvent
from approvals.outbound import outbox
from approvals.outbound.delivery_lanes import Job
from approvals.queries.engines import engine_named
from approvals.record import audit
from approvals.states import Channel, Door
from approvals.text.secrets import mask_text

#: One attempt is a few calls; after this lease another process may try.
LEASE = timedelta(minutes=2)
#: How long a workflow that does not wait yet may take until it does.
EARLY_FOR = timedelta(minutes=5)
EVENTS = {
    DeliveryResult.NOT_TAKEN: "callback.not_taken",
    DeliveryResult.UNKNOWN: "callback.unknown",
}


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Return due deliveries, longest due first, excluding shut lanes."""
    rows = outbox.head_events(Channel.ENGINE).exclude(lane__in=list(shut))
    return [_job(row) for row in rows[: outbox.BATCH]]


def _job(row: OutboxEvent) -> Job:
    # Marked before the call: if this process ends meanwhile, the decision may have arrived.
    return Job(
        row.lane,
        lambda: outbox.claim_event(row, LEASE, uncertain=True),
        lambda: deliver(row),
    )


def deliver(row: OutboxEvent) -> bool:
    """Take one claimed decision to its engine and store the outcome; return False if its host could not be reached.

    `row.uncertain` is that of before the claim.
    """
    arrived = bool(row.uncertain)
    requests = ApprovalRequest.objects.select_related("workflow", "decision")
    request = requests.filter(pk=row.payload["request_id"]).first()
    if request is None or not request.callback:
        outbox.give_up(row, _("the request was removed"), uncertain=arrived)
        return True
    connection = engine_named(request.callback["to"])
    if connection is None or connection.disabled_at is not None:
        _retry(row, request, _("the engine is disabled"), arrived=arrived)
        return True
    try:
        target = target_of(connection)
    except UnreadableSecret as error:
        _retry(row, request, str(error), arrived=arrived)
        return True
    document = decision_document(request, request.decision)
    conversation = ENGINES[connection.kind].deliver(
        target, request.callback["id"], document, repeated=arrived
    )
    connections.close_all()  # No database connection is held during the network call.
    try:
        outcome = converse(
            conversation, target, private=connection.private, arrived=arrived
        )
    except ConversationLost as error:
        _retry(row, request, str(error), arrived=error.arrived)
        return error.reached
    _store(row, request, outcome.reading, arrived=outcome.arrived)
    return True


def decision_document(request: ApprovalRequest, decision: Decision) -> JsonDict:
    """Return a decision as engines get it, the same at every attempt."""
    deadline = request.deadline_at
    names = ("comment", "answer", "edited_input", "approved_digest")
    return {
        **outcome_of(decision),
        "status": request.status,
        "id": request.callback["id"],
        "workflow_id": request.workflow.key,
        "tool_call_id": request.tool_call_id,
        "deadline": utc(deadline) if deadline else None,
        **{name: getattr(decision, name) for name in names},
        "digest_salt": decision.digest_salt or None,
    }


def _store(
    row: OutboxEvent, request: ApprovalRequest, reading: EngineReading, *, arrived: bool
) -> None:
    match reading.result:
        case DeliveryResult.TAKEN:
            outbox.mark_delivered(row)
            _notify(request)
        case DeliveryResult.NOT_TAKEN | DeliveryResult.UNKNOWN:
            _end(row, request, reading)
        case DeliveryResult.EARLY if _age(row) > EARLY_FOR:
            _end(row, request, EngineReading(DeliveryResult.NOT_TAKEN, reading.note))
        case DeliveryResult.EARLY | DeliveryResult.LATER:
            _retry(row, request, reading.note, arrived=arrived)


def _retry(
    row: OutboxEvent, request: ApprovalRequest, reason: str, *, arrived: bool
) -> None:
    """Schedule the next attempt; after days of attempts, end the delivery."""
    if _age(row) > outbox.GIVE_UP_AFTER:
        result = DeliveryResult.UNKNOWN if arrived else DeliveryResult.NOT_TAKEN
        _end(row, request, EngineReading(result, reason))
    else:
        outbox.record_failure(row, reason, uncertain=arrived)


def _end(row: OutboxEvent, request: ApprovalRequest, reading: EngineReading) -> None:
    """End a delivery that is not known to have arrived: on record, with an event for webhooks, and on open pages."""
    event = EVENTS[reading.result]
    reason = mask_text(reading.note)
    about = {"engine": request.callback["to"], "id": request.callback["id"]}
    workflow = request.workflow
    with transaction.atomic():
        unknown = reading.result == DeliveryResult.UNKNOWN
        if not outbox.give_up(row, reason, uncertain=unknown):
            return
        subject = audit.subject_of(request, workflow)
        data = about | {"reason": reason}
        audit.record(event, subject, data=data, actor=None, via=Door.SYSTEM)
        outbox.enqueue(
            event,
            stream=outbox.stream_of(workflow.scope, workflow.key),
            data=outbox.request_data(request, workflow) | {"callback": data},
        )
        _notify(request)


def _notify(request: ApprovalRequest) -> None:
    people = (request.requested_by_id, request.assigned_to_id)
    notify(request.workflow, *people, request_id=str(request.pk))


def _age(row: OutboxEvent) -> timedelta:
    return timezone.now() - (row.sent_again_at or row.created_at)
