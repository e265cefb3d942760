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

from django.db import InterfaceError, OperationalError, connections

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
#: What Django raises while the database is away, restarts or gives no connection in time.
AWAY = (OperationalError, InterfaceError)
#: Seconds between two tries while it is.
RETRY = 1.0
_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-db")


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync function that touches the database; its connection is closed when it is done.

    A cancelled caller does not interrupt the work: a transaction that has begun ends on its own.
    """
    return await asyncio.get_running_loop().run_in_executor(_pool, functools.partial(unit, work, *args, **kwargs))


async def insist(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `run`, again and again while the database is away. For work that may be done twice: whether a transaction was
    committed whose connection broke, nobody knows.
    """
    return await until_back(functools.partial(run, work, *args, **kwargs))


async def until_back(look: Callable[[], Awaitable[T]]) -> T:
    """What a look says, again and again while the database is away."""
    tries = 0
    while True:
        try:
            return await look()
        except AWAY as error:
            if not tries:
                logger.warning("The database is away (%s); trying again every %g s.", _first_line(error), RETRY)
            tries += 1
            await asyncio.sleep(RETRY)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def later(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run it when a thread is free, and let nobody wait for it."""
    _pool.submit(functools.partial(unit, work, *args, **kwargs))


def unit(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on a pool's thread, and close the connections that it opened there."""
    try:
        return work(*args, **kwargs)
    finally:
        connections.close_all()
