"""Settle deliveries to engines: people say whether a decision arrived, and send it again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing, read_again
from approvals.actions.publishing import notify
from approvals.exceptions import Conflict, NotAllowed
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.models.actors import Actor
from approvals.outbound import outbox
from approvals.queries.engines import CallbackState, deliveries_of, state_of
from approvals.queries.requests import get_request_for
from approvals.record import audit
from approvals.states import Door

#: The statements of people, and the states in which they can be made.
ARRIVED = "arrived"
NOT_ARRIVED = "not_arrived"
SEND = "send"
FROM = {
    ARRIVED: CallbackState.UNKNOWN,
    NOT_ARRIVED: CallbackState.UNKNOWN,
    SEND: CallbackState.NOT_TAKEN,
}


def may_settle(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may settle the delivery of a decision: its deciders, and administrators."""
    return permissions.may_close(standing, request) or permissions.may_administer(
        standing
    )


def settle(pk: UUID, what: str, *, by: Actor) -> ApprovalRequest:
    """Store a person's statement about an unknown delivery, or send one again that was not taken; on record.

    Raise NotFound, NotAllowed or Conflict.
    """
    with transaction.atomic():
        standing = read_again(by)
        request = get_request_for(standing, pk)
        if not may_settle(standing, request):
            raise NotAllowed(_("You may not settle this delivery."))
        row = deliveries_of(request).select_for_update().first()
        if row is None or what not in FROM or state_of(row) != FROM[what]:
            message = _("This delivery has changed meanwhile. Look at it again.")
            raise Conflict(message)
        _write(row, what)
        data = {"engine": request.callback["to"], "id": request.callback["id"]}
        data |= {"outcome": what}
        subject = audit.subject_of(request, request.workflow)
        audit.record(
            "callback.settled", subject, data=data, actor=by, via=Door.DASHBOARD
        )
        people = (request.requested_by_id, request.assigned_to_id)
        notify(request.workflow, *people, request_id=str(request.pk))
    return request


def _write(row: OutboxEvent, what: str) -> None:
    if what == ARRIVED:
        outbox.mark_delivered(row, note=row.last_error)
        return
    columns: dict[str, Any] = {"uncertain": False}
    if what == SEND:
        columns |= {"dead_at": None, "attempts": 0}
        columns |= {"next_attempt_at": Now(), "sent_again_at": Now()}
    OutboxEvent.objects.filter(pk=row.pk).update(**columns)
