"""Add, change and disable engines, on record. A credential is stored encrypted, and never shown or recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.actions.changes import Kind, change_or_request
from approvals.actions.locking import lock_standing
from approvals.actions.logins import SUBJECT
from approvals.db.canonical_json import digest
from approvals.exceptions import Conflict
from approvals.models import EngineConnection, PendingChange
from approvals.outbound.outbox import lane_of_engine, undelivered_events
from approvals.policy.loosening import engine_loosens
from approvals.record import audit
from approvals.states import Channel, Door

#: The columns that administrators see and set, besides the credential.
COLUMNS = ("name", "kind", "url", "route", "private")
#: What changes and the record show of an engine.
SHOWN = (*COLUMNS, "disabled")


def described_engine(name: str) -> dict[str, Any] | None:
    """Return a stored engine as changes and the record show it, without its credential."""
    row = EngineConnection.objects.filter(name=name).first()
    if row is None:
        return None
    columns = {column: getattr(row, column) for column in COLUMNS}
    return columns | {"disabled": row.disabled_at is not None}


def save_engine(
    stored: Mapping[str, Any], *, add: bool, by: User
) -> PendingChange | None:
    """Add an engine, or change it, or return the pending change if it needs another administrator. Raise Conflict.

    `stored` has the members of SHOWN, and `secret`, encrypted, if it changes.
    """
    with transaction.atomic():
        standing = lock_standing(by)
        before = described_engine(stored["name"])
        if add and before is not None:
            raise Conflict(_("There is an engine with this name already."))
        return change_or_request(
            Kind.ENGINE,
            dict(stored),
            subject=digest(stored["name"]),
            before=before,
            loosens=engine_loosens(before, stored),
            standing=standing,
            write=lambda: write_engine(stored, by=by),
            alone={"name": stored["name"], "url": stored["url"]},
            by=by,
            via=Door.DASHBOARD,
        )


def write_engine(stored: Mapping[str, Any], *, by: User) -> None:
    """Store an engine, on record. Decisions that wait for it are due at once."""
    row = EngineConnection.objects.filter(name=stored["name"]).first()
    change = "engine changed" if row else "engine added"
    row = row or EngineConnection()
    for name in COLUMNS:
        setattr(row, name, stored[name])
    if "secret" in stored:
        row.secret = stored["secret"]
    row.disabled_at = (
        (row.disabled_at or timezone.now()) if stored["disabled"] else None
    )
    row.save()
    waiting = undelivered_events(Channel.ENGINE).filter(lane=lane_of_engine(row.name))
    waiting.update(next_attempt_at=Now())
    data = {"change": change, "engine_id": row.pk, "new_secret": "secret" in stored}
    data |= {name: stored[name] for name in SHOWN}
    audit.record("engine.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD)
