"""Sign webhooks (Standard Webhooks) with secrets that are derived from SECRET_KEY; `actions` makes and ends them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from standardwebhooks import Webhook

from approvals.models.keys import ApiKey
from approvals.models.subscriptions import SigningSecret, WebhookEndpoint

Owner = WebhookEndpoint | ApiKey


class NoSecret(Exception):
    """There is nothing to sign with; the message says what to do."""


def secrets_of(owner: Owner) -> list[str]:
    """Return the secrets that sign now, newest first. NoSecret if there is none, or if SECRET_KEY has changed."""
    texts = []
    for secret in valid_secrets(owner):
        text = secret_text(secret.nonce)
        if fingerprint_of(text) != secret.fingerprint:
            raise NoSecret(_("the signing secret was created with a different SECRET_KEY; create a new signing secret"))
        texts.append(text)
    if not texts:
        raise NoSecret(_("there is no signing secret; create one in the admin or with `manage.py webhooksecret`"))
    return texts


def signed_headers(message_id: str, body: str, texts: Iterable[str], *, at: datetime) -> dict[str, str]:
    """Return the headers of Standard Webhooks, with one signature for each secret."""
    # The library reads the wall-clock time as UTC, whatever the time zone.
    moment = at.astimezone(UTC)
    signatures = [Webhook(text).sign(message_id, moment, body) for text in texts]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def valid_secrets(owner: Owner) -> QuerySet[SigningSecret]:
    """Return the secrets that have not expired, newest first."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return SigningSecret.objects.filter(unexpired, **owner_column(owner)).order_by("-pk")


def owner_column(owner: Owner) -> dict[str, Owner]:
    """Return the column that names the owner of a secret, and its value."""
    return {"api_key" if isinstance(owner, ApiKey) else "endpoint": owner}


def secret_text(nonce: str) -> str:
    """Return the secret, `whsec_…`, that belongs to a stored nonce."""
    derived = salted_hmac("approvals.webhook-secret", nonce, algorithm="sha256").digest()
    return "whsec_" + base64.b64encode(derived).decode()


def fingerprint_of(text: str) -> str:
    """Return what is stored to recognize a secret."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
