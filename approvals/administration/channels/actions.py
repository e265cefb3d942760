"""Connect channels in which people answer, and relays: people can decide from there, so a second administrator confirms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from approvals.actions.changes import Kind, change_or_request
from approvals.actions.channels import relays
from approvals.actions.channels.connections import (
    described_connection,
    remove_connection,
    write_connection,
)
from approvals.administration.changeable import lock_people
from approvals.models import PendingChange
from approvals.models.channels import Shows
from approvals.states import Door


def connect(stored: Mapping[str, Any], *, by: User) -> PendingChange | None:
    """Store a connection with its encrypted `secret`, or return the pending change. Raise NotAllowed."""
    with transaction.atomic():
        kind = stored["kind"]
        return change_or_request(
            Kind.CHANNEL,
            dict(stored),
            subject=kind,
            standing=lock_people(by),
            before=described_connection(kind),
            loosens=True,
            write=lambda: write_connection(stored, by=by, via=Door.DASHBOARD),
            alone={"channel": kind},
            by=by,
            via=Door.DASHBOARD,
        )


def disconnect(kind: str, *, by: User) -> None:
    """Remove a connection. Raise NotAllowed."""
    with transaction.atomic():
        lock_people(by)
        remove_connection(kind, by=by, via=Door.DASHBOARD)


def store_relay(stored: Mapping[str, Any], *, by: User) -> PendingChange | None:
    """Store a relay, or return the pending change if it may carry more, or elsewhere, than before. Raise NotAllowed."""
    name = stored["name"]
    with transaction.atomic():
        standing = lock_people(by)
        before = relays.described_relay(name)
        return change_or_request(
            Kind.RELAY,
            dict(stored),
            subject=name,
            before=before,
            loosens=_loosens(before, stored),
            standing=standing,
            write=lambda: relays.write_relay(stored, by=by, via=Door.DASHBOARD),
            alone={"channel": name},
            by=by,
            via=Door.DASHBOARD,
        )


def rotate_relay_secret(name: str, *, by: User) -> str:
    """Replace the secret of a relay, and return the new one. Raise NotAllowed or NotFound."""
    with transaction.atomic():
        lock_people(by)
        return relays.rotate_secret(name, by=by, via=Door.DASHBOARD)


def remove_relay(name: str, *, by: User) -> None:
    """Remove a relay. Raise NotAllowed or NotFound."""
    with transaction.atomic():
        lock_people(by)
        relays.remove_relay(name, by=by, via=Door.DASHBOARD)


def _loosens(before: Mapping[str, Any] | None, stored: Mapping[str, Any]) -> bool:
    """Return whether a relay is new, has another address, or may carry more than before."""
    if before is None or before["address"] != stored["address"]:
        return True
    order = list(Shows.values)
    more = order.index(stored["shows"]) > order.index(before["shows"])
    former = before["up_to"]
    limit = stored["up_to"]
    return more or (former is not None and (limit is None or limit > former))
