"""Make, change and remove webhooks, and the secrets that sign them, on record."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotFound
from approvals.models.subscriptions import SigningSecret, WebhookEndpoint
from approvals.outbound import signing
from approvals.outbound.signing import Owner
from approvals.record import audit
from approvals.states import Door

FIELDS = ("name", "url", "events", "include_payload", "active")
#: How long the previous secret keeps signing, so that a receiver can change over without losing anything.
OVERLAP = timedelta(days=1)


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


def create_signing_secret(owner: Owner) -> str:
    """Make a secret and return it, `whsec_…`, to be shown once.

    The previous one signs too for OVERLAP; older ones end at once.
    """
    nonce, now = secrets.token_urlsafe(32), timezone.now()
    text = signing.secret_text(nonce)
    with transaction.atomic():
        # Without this lock, two at once would each end the other's predecessor only, and leave three valid.
        type(owner)._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
        previous = list(signing.valid_secrets(owner))
        _expire(previous[1:], at=now)
        _expire(previous[:1], at=now + OVERLAP)
        SigningSecret.objects.create(
            **signing.owner_column(owner), nonce=nonce, fingerprint=signing.fingerprint_of(text)
        )
    return text


def end_old_signing_secrets(owner: Owner) -> int:
    """Let only the newest secret sign from now on; return how many were ended."""
    return _expire(list(signing.valid_secrets(owner))[1:], at=timezone.now())


def _expire(valid: list[SigningSecret], *, at: datetime) -> int:
    return SigningSecret.objects.filter(pk__in=[secret.pk for secret in valid]).update(expires_at=at)


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
