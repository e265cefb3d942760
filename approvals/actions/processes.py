"""How a process says that it lives, and that it has ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from approvals.models.processes import Worker, WorkerKind
from approvals.runtime import async_commit

#: A row that was not seen for so long tells nobody anything any more.
FORGOTTEN = timedelta(days=1)


def seen(name: str, kind: WorkerKind, *, started_at: datetime, running: int) -> None:
    """The process of this name lives and runs so many turns; rows of the long dead go."""
    row = Worker(name=name, kind=kind, started_at=started_at, seen_at=Now(), running=running)
    with transaction.atomic():
        # Lost with the power, it is said again a few seconds later, if there is still somebody to say it.
        async_commit.found_again()
        # One statement: two processes of one name, or a row that goes meanwhile, change nothing about it.
        Worker.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["name"], update_fields=["kind", "seen_at", "running"]
        )
        Worker.objects.filter(seen_at__lt=Now() - FORGOTTEN).delete()


def gone(name: str) -> None:
    """The process of this name ends as it should."""
    with transaction.atomic():
        # Lost with the power, the row grows old like that of a process that was killed.
        async_commit.found_again()
        Worker.objects.filter(name=name).delete()
