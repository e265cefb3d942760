"""Make, change and remove webhooks, and the secrets that sign them, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.actions import create_signing_secret, end_old_signing_secrets
from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotFound
from approvals.models.subscriptions import WebhookEndpoint
from approvals.record import audit
from approvals.states import Door

FIELDS = ("name", "url", "events", "include_payload", "active")


def store_endpoint(endpoint_id: int | None, fields: Mapping[str, Any], *, by: User, via: Door) -> WebhookEndpoint:
    """Make an endpoint with its first secret, or change one. NotFound."""
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
    """Make a new secret and return it, to be shown once; the previous one signs too for a day. NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        text = create_signing_secret(endpoint)
        _record(endpoint, "secret rotated", by, via)
    return text


def end_old_secrets(endpoint_id: int, *, by: User, via: Door) -> int:
    """Let only the newest secret sign from now on; return how many were ended. NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        ended = end_old_signing_secrets(endpoint)
        _record(endpoint, "old secrets ended", by, via)
    return ended


def remove_endpoint(endpoint_id: int, *, by: User, via: Door) -> None:
    """Remove an endpoint; what it has not received yet is given up. NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        _record(endpoint, "removed", by, via)
        endpoint.delete()


def _locked(endpoint_id: int) -> WebhookEndpoint:
    endpoint = WebhookEndpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_id).first()
    if endpoint is None:
        raise NotFound(_("Webhook not found. Someone may have removed it."))
    return endpoint


def _record(endpoint: WebhookEndpoint, change: str, by: User, via: Door) -> None:
    # Without the query of the address, which may hold a secret of the receiver.
    url = endpoint.url.partition("?")[0]
    shown = {name: getattr(endpoint, name) for name in FIELDS if name != "url"}
    data = {"change": change, "webhook_id": endpoint.pk, "url": url} | shown
    audit.record("webhook.changed", SUBJECT, data=data, actor=by, via=via)
