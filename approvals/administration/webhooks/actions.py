"""Create, change and remove webhooks and their signing secrets, and resend events; on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals.actions import create_signing_secret, end_old_signing_secrets
from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotFound
from approvals.models import OutboxEvent
from approvals.models.subscriptions import WebhookEndpoint
from approvals.record import audit
from approvals.states import Door

FIELDS = ("name", "url", "events", "include_payload", "active")


def store_endpoint(
    endpoint_id: int | None, fields: Mapping[str, Any], *, by: User, via: Door
) -> WebhookEndpoint:
    """Create an endpoint with its first secret, or change one. Raise NotFound."""
    with transaction.atomic():
        endpoint = WebhookEndpoint() if endpoint_id is None else _locked(endpoint_id)
        for name in FIELDS:
            setattr(endpoint, name, fields[name])
        endpoint.save()
        _record(endpoint, "created" if endpoint_id is None else "changed", by, via)
        if endpoint_id is None:
            create_signing_secret(endpoint)
    return endpoint


def rotate_secret(endpoint_id: int, *, by: User, via: Door) -> str:
    """Create a secret and return it, to be shown once; the previous one keeps signing for a day. Raise NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        text = create_signing_secret(endpoint)
        _record(endpoint, "secret rotated", by, via)
    return text


def end_old_secrets(endpoint_id: int, *, by: User, via: Door) -> int:
    """End all secrets but the newest one; return how many were ended. Raise NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        ended = end_old_signing_secrets(endpoint)
        _record(endpoint, "old secrets ended", by, via)
    return ended


def remove_endpoint(endpoint_id: int, *, by: User, via: Door) -> None:
    """Remove an endpoint and its undelivered events. Raise NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        _record(endpoint, "removed", by, via)
        endpoint.delete()


def _locked(endpoint_id: int) -> WebhookEndpoint:
    endpoint = (
        WebhookEndpoint.objects.select_for_update(no_key=True)
        .filter(pk=endpoint_id)
        .first()
    )
    if endpoint is None:
        raise NotFound(_("Webhook not found. Someone may have removed it."))
    return endpoint


def _record(endpoint: WebhookEndpoint, change: str, by: User, via: Door) -> None:
    # Without the query string, which may hold a secret of the receiver.
    url = endpoint.url.partition("?")[0]
    shown = {name: getattr(endpoint, name) for name in FIELDS if name != "url"}
    data = {"change": change, "webhook_id": endpoint.pk, "url": url} | shown
    audit.record("webhook.changed", SUBJECT, data=data, actor=by, via=via)


def resend_events(
    events: QuerySet[OutboxEvent], *, by: User, via: str = Door.ADMIN
) -> int:
    """Resend these events, even if delivered or given up, on record; return their number."""
    with transaction.atomic():
        rows = list(events.select_for_update())
        for row in rows:
            data = {
                "event_id": str(row.event_id),
                "event": row.name,
                "target": row.target.partition("?")[0],
            }
            audit.record(
                "event.resent", _subject_of_event(row), data=data, actor=by, via=via
            )
        OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).update(
            delivered_at=None,
            dead_at=None,
            next_attempt_at=Now(),
            sent_again_at=Now(),
            attempts=0,
        )
    return len(rows)


def _subject_of_event(row: OutboxEvent) -> audit.Subject:
    names = ("thread_id", "agent", "tool_name", "tool_call_id")
    known: dict[str, Any] = {name: str(row.payload.get(name) or "") for name in names}
    run_id = str(row.payload["run_id"])
    scope = row.stream.removesuffix(f":{run_id}")
    return audit.Subject(
        scope=scope, run_id=run_id, request_id=row.payload.get("request_id"), **known
    )
