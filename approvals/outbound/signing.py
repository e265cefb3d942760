"""Secrets of webhooks and what they sign (Standard Webhooks): made from SECRET_KEY, shown once, two at a time."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from standardwebhooks import Webhook

from approvals.models.keys import ApiKey
from approvals.models.subscriptions import SigningSecret, WebhookEndpoint

#: How long the secret before the newest goes on signing, so that a receiver can change over without losing anything.
OVERLAP = timedelta(days=1)

Owner = WebhookEndpoint | ApiKey


class NoSecret(Exception):
    """There is nothing to sign with; the message says what to do."""


def new_secret(owner: Owner) -> str:
    """A new secret, `whsec_…`, to be shown once. The one before it signs too for OVERLAP; older ones end at once."""
    nonce, now = secrets.token_urlsafe(32), timezone.now()
    text = _text(nonce)
    with transaction.atomic():
        # Two at once would each end the other's predecessor only, and leave three valid.
        type(owner)._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
        previous = list(_valid(owner))
        SigningSecret.objects.filter(pk__in=[secret.pk for secret in previous[1:]]).update(expires_at=now)
        SigningSecret.objects.filter(pk__in=[secret.pk for secret in previous[:1]]).update(expires_at=now + OVERLAP)
        SigningSecret.objects.create(**_owned(owner), nonce=nonce, fingerprint=_fingerprint(text))
    return text


def end_old_secrets(owner: Owner) -> int:
    """Let only the newest secret sign from now on; how many were ended."""
    previous = [secret.pk for secret in _valid(owner)][1:]
    return SigningSecret.objects.filter(pk__in=previous).update(expires_at=timezone.now())


def secrets_of(owner: Owner) -> list[str]:
    """The secrets that sign now, the newest first. NoSecret where there is none, or SECRET_KEY is another one."""
    found = []
    for secret in _valid(owner):
        text = _text(secret.nonce)
        if _fingerprint(text) != secret.fingerprint:
            raise NoSecret(_("the signing secret was created with a different SECRET_KEY; create a new signing secret"))
        found.append(text)
    if not found:
        raise NoSecret(_("there is no signing secret; create one in the admin or with `manage.py webhooksecret`"))
    return found


def signed_headers(message_id: str, body: str, texts: Iterable[str], *, at: datetime) -> dict[str, str]:
    """The headers of Standard Webhooks, with one signature for each secret."""
    moment = at.astimezone(UTC)  # the library takes the clock's face for UTC, whatever the zone
    signatures = [Webhook(text).sign(message_id, moment, body) for text in texts]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def _valid(owner: Owner) -> Iterable[SigningSecret]:
    standing = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return SigningSecret.objects.filter(standing, **_owned(owner)).order_by("-pk")


def _owned(owner: Owner) -> dict[str, Owner]:
    return {"api_key" if isinstance(owner, ApiKey) else "endpoint": owner}


def _text(nonce: str) -> str:
    made = salted_hmac("approvals.webhook-secret", nonce, algorithm="sha256").digest()
    return "whsec_" + base64.b64encode(made).decode()


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
