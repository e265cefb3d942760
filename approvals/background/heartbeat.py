"""The pulse of a process: every few seconds it says that it lives, for `/readyz`, `/metrics` and the system checks."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from uuid import uuid4

from django.utils import timezone

from approvals import actions
from approvals.models.processes import BEAT, WorkerKind
from approvals.runtime import database

logger = logging.getLogger(__name__)


def process_name() -> str:
    """`host:pid:random`."""
    return f"{socket.gethostname()[:150]}:{os.getpid()}:{uuid4().hex[:8]}"


def idle() -> int:
    """What a process says of its turns that runs none."""
    return 0


async def beat(kind: WorkerKind, running: Callable[[], int]) -> None:
    """Say every BEAT seconds that this process lives, until cancelled; then that it has ended."""
    name, started_at = process_name(), timezone.now()
    try:
        while True:
            try:
                await database.run(actions.seen, name, kind, started_at=started_at, running=running())
            except database.AWAY as error:
                database.outage.met(error)
            except Exception:
                # The next beat tries again.
                logger.warning("This process cannot say that it lives", exc_info=True)
            await asyncio.sleep(BEAT)
    finally:
        # Not awaited by a task that is being cancelled; should it get lost, the row grows old.
        database.later(actions.gone, name)
