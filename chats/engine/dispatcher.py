"""Where a worker takes its turns from: Procrastinate's queue, for as long as the process lives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from django.db import connections
from procrastinate import App, PsycopgConnector
from procrastinate.jobs import Status

from chats.engine.jobs import Jobs
from chats.engine.runner import OWNER
from chats.queue import QUEUE, TASK

logger = logging.getLogger(__name__)

#: Seconds: between two tries while the database is away, for turns of a queue that is being left, and between two looks
#: for jobs whose worker died. A worker that has not been heard of for SILENT is dead.
RETRY, LEAVING, CLEARING, SILENT = 1.0, 10.0, 30.0, 30.0
#: Connections of the queue's own, beside those of Django: one listens, the others fetch and finish jobs.
CONNECTIONS = 4


async def take_turns(jobs: Jobs, *, at_once: int) -> None:
    """Run turns off the queue, at most `at_once` of them, until cancelled. The sweep goes on while the queue is away."""
    while True:
        try:
            await _work(jobs, at_once)
        except Exception as error:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                # Told to end, it failed to take its leave of a database that is away: that is an end, too.
                raise asyncio.CancelledError from error
            logger.warning("The queue of turns is away (%s); trying again. The sweep finds turns meanwhile.", error)
        await asyncio.sleep(RETRY)


async def _work(jobs: Jobs, at_once: int) -> None:
    app = App(connector=_connector())

    @app.task(name=TASK, queue=QUEUE)
    async def advance(turn_id: int) -> None:
        await jobs.run(turn_id)

    async with app.open_async():
        clearing = asyncio.create_task(_clear(app))
        try:
            await app.run_worker_async(
                queues=[QUEUE],
                name=OWNER,
                concurrency=at_once,
                delete_jobs="always",
                install_signal_handlers=False,
                shutdown_graceful_timeout=LEAVING,
                stalled_worker_timeout=SILENT,
            )
        finally:
            clearing.cancel()


def _connector() -> PsycopgConnector:
    given = connections["default"].get_connection_params()
    known: dict[str, Any] = {name: value for name, value in given.items() if name not in {"cursor_factory", "context"}}
    # Jobs are hints: to wait for the disk with each of them would slow every turn down, and save nothing. A lock that takes
    # long ends no worker: the queue's connections are its own.
    mine = "-c synchronous_commit=off -c lock_timeout=30000"
    known["options"] = " ".join(filter(None, [known.get("options"), mine]))
    return PsycopgConnector(kwargs=known, min_size=1, max_size=CONNECTIONS)


async def _clear(app: App) -> None:
    """Remove the jobs of dead workers; their turns are found by their lapsed leases."""
    while True:
        with contextlib.suppress(Exception):
            await app.job_manager.prune_stalled_workers(SILENT)
            for job in await app.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=SILENT):
                await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
        await asyncio.sleep(CLEARING)
