"""Database work from the event loop, on a few threads of our own: waiting pages and running turns cost no thread each.

Django's `sync_to_async` would either run everything outside a request on one shared thread, where one slow tool blocks
all, or take one thread and one connection per task that was started in a request.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-db")


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync function that touches the database; its connection is closed when it is done.

    A cancelled caller does not interrupt the work: a transaction that has begun ends on its own.
    """
    return await asyncio.get_running_loop().run_in_executor(_pool, functools.partial(unit, work, *args, **kwargs))


def later(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run it when a thread is free, and let nobody wait for it."""
    _pool.submit(functools.partial(unit, work, *args, **kwargs))


def unit(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on a pool's thread, and close the connections that it opened there."""
    try:
        return work(*args, **kwargs)
    finally:
        connections.close_all()
