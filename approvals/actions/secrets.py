"""Create and end the signing secrets of webhooks, and reveal a hidden value of a request to one person, on record."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.asking.secrets import hidden_values
from approvals.exceptions import NotAllowed, NotFound
from approvals.models.actors import Actor
from approvals.models.subscriptions import SigningSecret
from approvals.outbound.webhooks import (
    Owner,
    fingerprint_of,
    owner_column,
    secret_text,
    valid_secrets,
)
from approvals.queries.requests import get_request_for
from approvals.record import audit
from approvals.states import Door

#: How long the previous secret keeps signing, so that a receiver can switch without losing anything.
OVERLAP = timedelta(days=1)


def create_signing_secret(owner: Owner) -> str:
    """Create a secret and return it, `whsec_…`, to be shown once.

    The previous one also signs for OVERLAP; older ones end at once.
    """
    nonce = secrets.token_urlsafe(32)
    now = timezone.now()
    text = secret_text(nonce)
    with transaction.atomic():
        # Without this lock, two concurrent calls would each end only the other's predecessor, and leave three valid.
        type(owner)._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
        previous = list(valid_secrets(owner))
        _expire(previous[1:], at=now)
        _expire(previous[:1], at=now + OVERLAP)
        SigningSecret.objects.create(
            **owner_column(owner), nonce=nonce, fingerprint=fingerprint_of(text)
        )
    return text


def end_old_signing_secrets(owner: Owner) -> int:
    """End all secrets but the newest; return how many were ended."""
    return _expire(list(valid_secrets(owner))[1:], at=timezone.now())


def _expire(signing_secrets: list[SigningSecret], *, at: datetime) -> int:
    return SigningSecret.objects.filter(
        pk__in=[secret.pk for secret in signing_secrets]
    ).update(expires_at=at)


def reveal_secret(request_id: UUID, pointer: str, *, by: Actor, via: Door) -> Any:
    """Return the (partly) hidden value at this pointer in the input that is decided now. Raise NotFound or NotAllowed."""
    standing = standing_of(by)
    request = get_request_for(standing, request_id)
    if not permissions.may_reveal(standing):
        raise NotAllowed(
            _(
                "You do not have permission to show hidden values. Ask an administrator for it."
            )
        )
    hidden = hidden_values(request)
    if pointer not in hidden:
        raise NotFound(_("Nothing is hidden there. Reload the page."))
    with transaction.atomic():
        subject = audit.subject_of(request, request.workflow)
        audit.record(
            "request.secret_shown",
            subject,
            data={"pointer": pointer},
            actor=by,
            via=via,
        )
    return hidden[pointer]
