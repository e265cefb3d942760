"""Run database work from the event loop on a few threads, so that waiting pages and running turns do not need a thread each.

Django's `sync_to_async` would run all work outside a request on one shared thread, which a slow tool could block, or use one
thread and one connection per task started by a request.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
)
from psycopg.errors import LockNotAvailable

from approvals.db.failures import OutageLog
from approvals.db.transactions import LineTooLong

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
#: Raised while the database is away or restarting, or when a connection or statement times out. PostgreSQL reports an internal
#: error to a process whose session it ended for idling in a transaction.
AWAY = (OperationalError, InterfaceError, InternalError)
#: Seconds between retries while the database is away.
RETRY = 1.0
#: Shared by the process, so that an outage is logged once.
outage = OutageLog(
    logger,
    "The database is unavailable (%s); trying again.",
    "The database is available again.",
)
lock_waits = OutageLog(
    logger,
    "Rows have been locked for long (%s); trying again.",
    "No row is locked for long any more.",
)


def record_failure(error: Exception) -> None:
    """Log an error of AWAY, as a row that stays locked or as a database outage."""
    (lock_waits if is_locked(error) else outage).record_failure(error)


def is_locked(error: BaseException) -> bool:
    """Return whether a statement failed because a row stayed locked for too long."""
    return isinstance(error, LineTooLong) or isinstance(
        error.__cause__, LockNotAvailable
    )


_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-db")


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync function that uses the database on a thread, and release its connection afterwards.

    Cancelling the caller does not interrupt the work. Work that fails because a row stays locked has changed nothing, and is
    retried after RETRY seconds; its thread is free in between.
    """
    doing = functools.partial(_call, work, *args, **kwargs)
    while True:
        try:
            return await asyncio.get_running_loop().run_in_executor(_pool, doing)
        except OperationalError as error:
            if not is_locked(error):
                raise
            lock_waits.record_failure(error)
            await asyncio.sleep(RETRY)


async def retry(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run like `run`, and retry while the database is away.

    The work must be safe to repeat: when a connection breaks, its transaction may or may not have been committed.
    """
    return await retry_while_away(functools.partial(run, work, *args, **kwargs))


async def retry_while_away(work: Callable[[], Awaitable[T]]) -> T:
    """Await `work()`, and retry while the database is away."""
    while True:
        try:
            return await work()
        except AWAY as error:
            outage.record_failure(error)
            await asyncio.sleep(RETRY)


def submit(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run a function when a thread is free, without waiting for it."""
    _pool.submit(functools.partial(_call, work, *args, **kwargs))


def call_and_close(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on this thread, and close the connections that it opens."""
    try:
        result = work(*args, **kwargs)
    finally:
        connections.close_all()
    outage.record_success()
    lock_waits.record_success()
    return result


def _call(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on a thread of the pool, which keeps its SQLite connection because reopening the file takes longer.

    On PostgreSQL the connection returns to its own pool.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite":
        return call_and_close(work, *args, **kwargs)
    try:
        result = work(*args, **kwargs)
    except BaseException:
        # The connection may be broken.
        connections.close_all()
        raise
    outage.record_success()
    lock_waits.record_success()
    return result
