"""The processes of this installation: each updates its heartbeat row while it lives."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.db import models
from django.db.models import Count, QuerySet, Sum, TextChoices
from django.db.models.functions import Now

#: A process writes a heartbeat every BEAT seconds, and counts as dead without one for ALIVE.
BEAT = 5.0
ALIVE = timedelta(seconds=30)


class WorkerKind(TextChoices):
    WEB = "web", "Web"
    WORKER = "worker", "Worker"


class Worker(models.Model):
    """A process that sweeps, and may run turns. `name` is `host:pid:random`, new at every start."""

    name = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=6, choices=WorkerKind)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)
    #: The number of its running turns.
    running = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


def alive() -> QuerySet[Worker]:
    """Return the processes with a recent heartbeat, by the database's clock."""
    return Worker.objects.filter(seen_at__gt=Now() - ALIVE)


def alive_by_kind() -> dict[str, Any]:
    """Return the number of processes of each kind with a recent heartbeat, and of the turns that they run."""
    counted = alive().order_by("kind").values("kind")
    rows = counted.annotate(number=Count("pk"), running=Sum("running"))
    known: dict[str, Any] = {row["kind"]: row for row in rows}
    return {kind: known.get(kind, {"number": 0, "running": 0}) for kind in WorkerKind}
