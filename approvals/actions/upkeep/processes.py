"""Heartbeats of processes."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from approvals.db.transactions import async_commit
from approvals.models.processes import Worker, WorkerKind

#: A row without a heartbeat for this long is deleted.
FORGOTTEN = timedelta(days=1)


def record_heartbeat(
    name: str, kind: WorkerKind, *, started_at: datetime, running: int
) -> None:
    """Record that the process of this name lives and its number of turns; delete rows of long dead ones."""
    row = Worker(
        name=name, kind=kind, started_at=started_at, seen_at=Now(), running=running
    )
    with transaction.atomic():
        # If this write is lost, the next heartbeat follows a few seconds later.
        async_commit()
        # One statement, so that a concurrent insert or delete of the row does no harm.
        Worker.objects.bulk_create(
            [row],
            update_conflicts=True,
            unique_fields=["name"],
            update_fields=["kind", "seen_at", "running"],
        )
        Worker.objects.filter(seen_at__lt=Now() - FORGOTTEN).delete()


def remove_process(name: str) -> None:
    """Remove the row of a process that exits normally."""
    with transaction.atomic():
        # If this write is lost, the row goes stale, as after a kill.
        async_commit()
        Worker.objects.filter(name=name).delete()
