"""Connect a channel in which people answer: it lets them decide from there, so a second administrator confirms it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from approvals.access.administrators import needs_second
from approvals.actions.changes import Kind, record_alone, request_change
from approvals.actions.channels.connections import (
    described_connection,
    remove_connection,
    write_connection,
)
from approvals.administration.changeable import lock_people
from approvals.models import PendingChange
from approvals.states import Door


def connect(stored: Mapping[str, Any], *, by: User) -> PendingChange | None:
    """Store a connection with its encrypted `secret`, or return the pending change. Raise NotAllowed."""
    with transaction.atomic():
        kind = stored["kind"]
        if needs_second(lock_people(by)):
            return request_change(
                Kind.CHANNEL,
                dict(stored),
                subject=kind,
                before=described_connection(kind),
                by=by,
                via=Door.DASHBOARD,
            )
        write_connection(stored, by=by, via=Door.DASHBOARD)
        record_alone(Kind.CHANNEL, channel=kind, by=by, via=Door.DASHBOARD)
    return None


def disconnect(kind: str, *, by: User) -> None:
    """Remove a connection. Raise NotAllowed."""
    with transaction.atomic():
        lock_people(by)
        remove_connection(kind, by=by, via=Door.DASHBOARD)
