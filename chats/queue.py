"""The queue from which workers take turns (Procrastinate, on PostgreSQL).

A job is a hint that a turn waits; the Turn row says what is true. A job that gets lost, comes twice or comes late does no
harm: claiming the turn decides, and the sweep of every worker finds what no job tells of.
"""

from __future__ import annotations

from django.conf import settings
from procrastinate.contrib.django import app

QUEUE = "turns"
TASK = "chats.advance"


def in_use() -> bool:
    """Whether turns are run by workers and not by the process that serves pages."""
    return bool(settings.HITL_DISPATCH == "workers")


def put(turn_id: int) -> None:
    """Have a worker run a turn. Part of the transaction that is open: without its commit there is no job."""
    app.configure_task(TASK, queue=QUEUE).defer(turn_id=turn_id)
