"""Take turns off Procrastinate's queue, for as long as a worker process lives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from django.db import connections
from procrastinate import App, PsycopgConnector
from procrastinate.jobs import Status
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from chats.doorbell import QUEUE, TASK
from chats.engine.jobs import Jobs
from chats.engine.ledger import owner

logger = logging.getLogger(__name__)

#: Seconds between two attempts while the database is away, and for running jobs when the worker stops.
RETRY = 1.0
SHUTDOWN = 10.0
#: Seconds between two searches for the jobs of dead workers, and without a heartbeat after which a worker is dead.
CLEANUP = 30.0
STALLED = 30.0
#: The queue's own connections, apart from Django's: one listens, the others fetch and finish jobs.
CONNECTIONS = 4


async def take_turns(jobs: Jobs, *, at_once: int) -> None:
    """Run the turns of the queue, at most `at_once` at the same time, until cancelled."""
    while True:
        try:
            await _work(jobs, at_once)
        except Exception as error:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                # Cancelled, it could not shut down cleanly because the database is away.
                raise asyncio.CancelledError from error
            logger.warning(
                "The queue of turns is unavailable (%s); trying again. The sweep finds turns meanwhile.",
                error,
            )
        await asyncio.sleep(RETRY)


async def _work(jobs: Jobs, at_once: int) -> None:
    app = App(connector=_connector())

    @app.task(name=TASK, queue=QUEUE)
    async def advance(turn_id: int) -> None:
        await jobs.run(turn_id)

    async with app.open_async():
        cleanup = asyncio.create_task(_remove_stalled_jobs(app))
        try:
            await app.run_worker_async(
                queues=[QUEUE],
                name=owner(),
                concurrency=at_once,
                delete_jobs="always",
                install_signal_handlers=False,
                shutdown_graceful_timeout=SHUTDOWN,
                stalled_worker_timeout=STALLED,
            )
        finally:
            cleanup.cancel()


def _connector() -> PsycopgConnector:
    django = connections["default"].get_connection_params()
    parameters: dict[str, Any] = {
        key: django[key] for key in django.keys() - {"cursor_factory", "context"}
    }
    # A lost job does no harm, so its commit need not wait for the disk. A long lock wait must not end the worker.
    options = "-c synchronous_commit=off -c lock_timeout=30000"
    parameters["options"] = " ".join(filter(None, [parameters.get("options"), options]))
    return PsycopgConnector(
        pool_factory=_pool,
        configure=_configure,
        kwargs=parameters,
        min_size=1,
        max_size=CONNECTIONS,
    )


async def _configure(connection: AsyncConnection) -> None:
    """Commit each statement on its own: the actions on the queue have one each, and a transaction adds two round trips."""
    await connection.set_autocommit(True)


def _pool(**arguments: Any) -> AsyncConnectionPool:
    """Return a pool that does not test connections before use: `take_turns` starts over if one is broken."""
    return AsyncConnectionPool(**arguments | {"check": None})


async def _remove_stalled_jobs(app: App) -> None:
    """Remove the jobs of dead workers, repeatedly. The sweep finds their turns by the expired leases."""
    while True:
        with contextlib.suppress(Exception):
            await app.job_manager.prune_stalled_workers(STALLED)
            for job in await app.job_manager.get_stalled_jobs(
                queue=QUEUE, seconds_since_heartbeat=STALLED
            ):
                await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
        await asyncio.sleep(CLEANUP)
