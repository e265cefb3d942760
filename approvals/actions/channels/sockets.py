"""The lease on the outgoing connection to a channel: one process holds it, another takes over when it expires."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from approvals.models import ChannelConnection
from approvals.models.channels import SocketState

LEASE = timedelta(seconds=15)


def unheld(now: Any) -> QuerySet[ChannelConnection]:
    """Return the connections that some process should hold and none does."""
    free = Q(socket_until=None) | Q(socket_until__lt=now)
    return ChannelConnection.objects.filter(free).exclude(socket_state=SocketState.OFF)


def hold(connection_id: int, holder: str) -> bool:
    """Claim or renew the lease; return False if another process has it, or there is nothing to hold any more."""
    mine = Q(socket_holder=holder) | Q(socket_until=None) | Q(socket_until__lt=Now())
    rows = ChannelConnection.objects.filter(mine, pk=connection_id)
    return bool(
        rows.exclude(socket_state=SocketState.OFF).update(
            socket_holder=holder, socket_until=Now() + LEASE
        )
    )


def note_socket(
    connection_id: int, holder: str, state: SocketState, problem: str = ""
) -> None:
    """Store the state of the connection that this process holds."""
    ChannelConnection.objects.filter(pk=connection_id, socket_holder=holder).update(
        socket_state=state, socket_problem=problem[:80]
    )


def release(connection_id: int, holder: str) -> None:
    """Give the lease back, so that another process need not wait until it expires."""
    rows = ChannelConnection.objects.filter(pk=connection_id, socket_holder=holder)
    rows.exclude(socket_state=SocketState.OFF).update(
        socket_holder="", socket_until=None, socket_state=SocketState.LOST
    )
