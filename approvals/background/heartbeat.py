"""Record the heartbeat of this process every few seconds, for `/readyz`, `/metrics` and the system checks."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from uuid import uuid4

from django.utils import timezone

from approvals import actions
from approvals.access import sessions
from approvals.actions.logins import end_old_sessions, store_activity
from approvals.db import pool
from approvals.models.processes import BEAT, WorkerKind

logger = logging.getLogger(__name__)


def new_process_name() -> str:
    """Return a unique name for this process: `host:pid:random`."""
    return f"{socket.gethostname()[:150]}:{os.getpid()}:{uuid4().hex[:8]}"


def no_turns() -> int:
    """Return 0, for processes that run no turns."""
    return 0


async def send_heartbeats(kind: WorkerKind, running: Callable[[], int]) -> None:
    """Record a heartbeat every BEAT seconds until cancelled, then remove the process.

    `running` returns the current number of turns in this process.
    """
    name = new_process_name()
    started_at = timezone.now()
    stored_at = time.monotonic()
    try:
        while True:
            try:
                await pool.run(
                    actions.record_heartbeat,
                    name,
                    kind,
                    started_at=started_at,
                    running=running(),
                )
                if time.monotonic() - stored_at >= sessions.STORED_EVERY:
                    stored_at = time.monotonic()
                    await pool.run(store_activity, sessions.take_used())
                    await pool.run(end_old_sessions)
            except pool.AWAY as error:
                pool.outage.record_failure(error)
            except Exception:
                # The next heartbeat tries again.
                logger.warning(
                    "The heartbeat of this process could not be recorded", exc_info=True
                )
            await asyncio.sleep(BEAT)
    finally:
        # A cancelled task must not wait for this write. If it is lost, the row goes stale, as after a kill.
        pool.submit(actions.remove_process, name)
