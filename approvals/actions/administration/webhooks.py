"""Make, change and remove the endpoints of webhooks and their secrets, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.actions.logins import SUBJECT
from approvals.actions.signing_secrets import create_signing_secret
from approvals.exceptions import NotFound
from approvals.models.subscriptions import WebhookEndpoint
from approvals.record import audit
from approvals.states import Door

FIELDS = ("name", "url", "events", "include_payload", "active")


def store_endpoint(endpoint_id: int | None, fields: Mapping[str, Any], *, by: User) -> tuple[WebhookEndpoint, str]:
    """Make an endpoint, or change one; return it with its secret if it is new, to be shown once. NotFound."""
    with transaction.atomic():
        endpoint = WebhookEndpoint() if endpoint_id is None else _locked(endpoint_id)
        for name in FIELDS:
            setattr(endpoint, name, fields[name])
        endpoint.save()
        _record(endpoint, "created" if endpoint_id is None else "changed", by)
        return endpoint, create_signing_secret(endpoint) if endpoint_id is None else ""


def rotate_secret(endpoint_id: int, *, by: User) -> str:
    """Make a new secret, on record, and return it, to be shown once; the previous one signs too for a day. NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        text = create_signing_secret(endpoint)
        _record(endpoint, "secret rotated", by)
    return text


def remove_endpoint(endpoint_id: int, *, by: User) -> None:
    """Remove an endpoint, on record; what it has not received yet is given up. NotFound."""
    with transaction.atomic():
        endpoint = _locked(endpoint_id)
        _record(endpoint, "removed", by)
        endpoint.delete()


def _locked(endpoint_id: int) -> WebhookEndpoint:
    found = WebhookEndpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_id).first()
    if found is None:
        raise NotFound(_("Webhook not found. Someone may have removed it."))
    return found


def _record(endpoint: WebhookEndpoint, change: str, by: User) -> None:
    # Without the query of the address, which may hold a secret of the receiver.
    url = endpoint.url.partition("?")[0]
    shown = {name: getattr(endpoint, name) for name in FIELDS if name != "url"}
    data = {"change": change, "webhook_id": endpoint.pk, "url": url} | shown
    audit.record("webhook.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD)
