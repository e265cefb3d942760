"""Database work from the event loop, on a few threads of our own: waiting pages and running turns cost no thread each.

Django's `sync_to_async` would either run everything outside a request on one shared thread, where one slow tool blocks
all, or take one thread and one connection per task that was started in a request.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connections
from psycopg.errors import LockNotAvailable

from approvals.runtime.failures import Trouble

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
#: What Django raises while the database is away, restarts, gives no connection in time, or does not end a statement in time.
#: An internal error is what PostgreSQL says to a process that it took for frozen in a transaction.
AWAY = (OperationalError, InterfaceError, InternalError)
#: Seconds between two tries while it is.
RETRY = 1.0
#: Said once, whoever meets it.
outage = Trouble(logger, "The database is away (%s); what needs it is tried again.", "The database answers again.")
locked = Trouble(logger, "Rows are locked for long (%s); what needs them is tried again.", "No row is locked for long.")


def met(error: Exception) -> None:
    """Log one of AWAY as what it is: a row that stays locked, or a database that is away."""
    (locked if is_locked(error) else outage).met(error)


def is_locked(error: Exception) -> bool:
    """Whether a statement ended because it had waited for a row too long."""
    return isinstance(error.__cause__, LockNotAvailable)


_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-db")


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync function that touches the database; its connection is closed when it is done.

    A cancelled caller does not interrupt the work: a transaction that has begun ends on its own. Work that finds a row locked
    for long has changed nothing, and is done a moment later; meanwhile its thread is free for others.
    """
    doing = functools.partial(unit, work, *args, **kwargs)
    while True:
        try:
            return await asyncio.get_running_loop().run_in_executor(_pool, doing)
        except OperationalError as error:
            if not is_locked(error):
                raise
            locked.met(error)
            await asyncio.sleep(RETRY)


async def insist(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `run`, again and again while the database is away. For work that may be done twice: whether a transaction was
    committed whose connection broke, nobody knows.
    """
    return await until_back(functools.partial(run, work, *args, **kwargs))


async def until_back(look: Callable[[], Awaitable[T]]) -> T:
    """What a look says, again and again while the database is away."""
    while True:
        try:
            return await look()
        except AWAY as error:
            outage.met(error)
            await asyncio.sleep(RETRY)


def later(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run it when a thread is free, and let nobody wait for it."""
    _pool.submit(functools.partial(unit, work, *args, **kwargs))


def unit(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on a pool's thread, and close the connections that it opened there."""
    try:
        result = work(*args, **kwargs)
    finally:
        connections.close_all()
    outage.passed()
    locked.passed()
    return result
