"""Add, change and disable issuers of tokens, and map their tokens to users, on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.actions.changes import Kind, change_or_request
from approvals.actions.locking import lock_standing
from approvals.actions.logins import SUBJECT
from approvals.administration.keys.actions import (
    NewKey,
    require_key_for_other,
    store_key,
)
from approvals.db.canonical_json import digest
from approvals.exceptions import Conflict, NotFound
from approvals.models import ApiKey, PendingChange, TokenIssuer
from approvals.policy.loosening import issuer_loosens
from approvals.record import audit
from approvals.states import Door

#: The columns that administrators set.
COLUMNS = (
    "name",
    "issuer",
    "audience",
    "algorithms",
    "scoped",
    "any_type",
    "keys_url",
    "private",
)
#: The statement that finds the mappings of a token reads at most so many.
MOST = 500


def described_issuer(issuer: str) -> dict[str, Any] | None:
    """Return a stored issuer as changes and the record show it."""
    row = TokenIssuer.objects.filter(issuer=issuer).first()
    if row is None:
        return None
    columns = {name: getattr(row, name) for name in COLUMNS}
    return columns | {"disabled": row.disabled_at is not None}


def save_issuer(
    stored: Mapping[str, Any], *, add: bool, by: User
) -> PendingChange | None:
    """Add an issuer, or change it, or return the pending change if it needs another administrator. Raise Conflict."""
    with transaction.atomic():
        standing = lock_standing(by)
        before = described_issuer(stored["issuer"])
        if add and before is not None:
            raise Conflict(_("This issuer exists already."))
        return change_or_request(
            Kind.TOKEN_ISSUER,
            dict(stored),
            subject=digest(stored["issuer"]),
            before=before,
            loosens=issuer_loosens(before, stored),
            standing=standing,
            write=lambda: write_issuer(stored, by=by),
            alone={"issuer": stored["issuer"]},
            by=by,
            via=Door.DASHBOARD,
        )


def write_issuer(stored: Mapping[str, Any], *, by: User) -> None:
    """Store an issuer, on record. Its keys are read again, because they may be elsewhere now."""
    row = TokenIssuer.objects.filter(issuer=stored["issuer"]).first() or TokenIssuer()
    change = "issuer changed" if row.pk else "issuer added"
    if any(
        getattr(row, name) != stored[name] for name in ("issuer", "keys_url", "private")
    ):
        row.keys = []
        row.fetched_at = row.answered_at = None
    for name in COLUMNS:
        setattr(row, name, stored[name])
    row.disabled_at = (
        (row.disabled_at or timezone.now()) if stored["disabled"] else None
    )
    row.save()
    data = {"change": change, **stored}
    audit.record(
        "token_issuer.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD
    )


def add_mapping(
    issuer_id: int,
    *,
    claim: str,
    value: str,
    name: str,
    user: User,
    scopes: Sequence[str],
    by: User,
) -> PendingChange | None:
    """Map the tokens of an issuer whose claim has a value to a user and scopes, or return the pending change.

    Raise NotFound, NotAllowed or Conflict.
    """
    stored = {
        "issuer": issuer_id,
        "claim": claim,
        "value": value,
        "name": name,
        "scopes": list(scopes),
    }
    with transaction.atomic():
        standing = lock_standing(by)
        require_key_for_other(user, scopes, standing)
        _require_room(stored)
        return change_or_request(
            Kind.TOKEN_MAPPING,
            stored,
            person=user,
            subject=digest([issuer_id, claim, value]),
            loosens=True,
            standing=standing,
            write=lambda: write_mapping(stored, user, made_by=by, by=by),
            alone={"user": user.get_username(), **stored},
            by=by,
            via=Door.DASHBOARD,
        )


def write_mapping(
    stored: Mapping[str, Any], user: User, *, made_by: User, by: User
) -> ApiKey:
    """Store a mapping, on record, as a key without a secret. Raise NotFound, NotAllowed or Conflict."""
    _require_room(stored)
    new = NewKey(
        user=user,
        name=stored["name"],
        scopes=stored["scopes"],
        expires_at=None,
        issuer_id=stored["issuer"],
        claim=stored["claim"],
        claim_value=stored["value"],
    )
    # No text of a key has such a prefix.
    prefix = f"t{token_hex(5)}"
    return store_key(new, prefix, "", made_by=made_by, by=by, via=Door.DASHBOARD)


def _require_room(stored: Mapping[str, Any]) -> None:
    if not TokenIssuer.objects.filter(pk=stored["issuer"]).exists():
        raise NotFound(_("Issuer not found."))
    mappings = ApiKey.objects.filter(issuer=stored["issuer"], revoked_at=None)
    if mappings.filter(claim=stored["claim"], claim_value=stored["value"]).exists():
        raise Conflict(_("This claim and value are mapped already. Remove that first."))
    if mappings.count() >= MOST:
        message = _("There are %(number)d mappings already. Remove some first.")
        raise Conflict(message % {"number": MOST})
