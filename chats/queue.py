"""The queue from which workers take turns (Procrastinate, on PostgreSQL).

A job only says that a turn may be queued; the Turn row decides. A job that is lost, repeated or late does no harm: the turn
has to be claimed, and each worker's sweep finds turns without a job.
"""

from __future__ import annotations

from django.conf import settings
from procrastinate.contrib.django import app

QUEUE = "turns"
TASK = "chats.advance"


def in_use() -> bool:
    """Return whether workers run the turns, and not the process that serves pages."""
    return bool(settings.HITL_DISPATCH == "workers")


def put(turn_id: int) -> None:
    """Queue a job for a turn, in the open transaction."""
    app.configure_task(TASK, queue=QUEUE).defer(turn_id=turn_id)
