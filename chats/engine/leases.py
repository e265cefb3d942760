"""The leases of this process: renewed for all turns that run on a loop with one statement, and freed when it has died."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from approvals.db import pool
from chats import actions
from chats.engine.ledger import Ledger

RENEW_EVERY = timedelta(seconds=5)


def _host() -> str:
    """Return what has the same processes as this one: the host, and in it the container."""
    with suppress(OSError):
        return f"{socket.gethostname()}:{os.stat('/proc/self/ns/pid').st_ino}"
    return socket.gethostname()


def _start_of(pid: int | str) -> str:
    """Return when a process of this host was started, in ticks since the host was; "" if there is none, or no telling."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


HOST = _host()
#: The name under which this process has turns. Another process may get its number one day, but not with the same start.
OWNER = f"{HOST}:{os.getpid()}:{_start_of('self')}"


def free_dead_leases() -> None:
    """End the leases of processes of this host that have died, so that the sweep need not wait for them."""
    if not OWNER.endswith(":"):
        for owner in actions.lease_owners(f"{HOST}:"):
            pid, _, start = owner.removeprefix(f"{HOST}:").partition(":")
            if _start_of(pid) != start:
                actions.end_leases(owner)


@dataclass(slots=True)
class _Leases:
    timer: asyncio.TimerHandle | None = None
    renewal: asyncio.Task[None] | None = None
    runs: dict[Ledger, asyncio.Event] = field(default_factory=dict)


_leases: dict[asyncio.AbstractEventLoop, _Leases] = {}


def keep(ledger: Ledger, stop: asyncio.Event) -> None:
    """Renew the lease of a run from now on; set `stop` if it is lost, or if the turn was stopped elsewhere."""
    loop = asyncio.get_running_loop()
    leases = _leases.setdefault(loop, _Leases())
    leases.runs[ledger] = stop
    if leases.timer is None:
        _renew_later(loop, leases)


def drop(ledger: Ledger) -> None:
    """Renew it no longer."""
    loop = asyncio.get_running_loop()
    leases = _leases[loop]
    del leases.runs[ledger]
    if not leases.runs and leases.timer is not None:
        leases.timer.cancel()
        del _leases[loop]


def _renew_later(loop: asyncio.AbstractEventLoop, leases: _Leases) -> None:
    leases.timer = loop.call_later(RENEW_EVERY.total_seconds(), _renew_now, loop, leases)


def _renew_now(loop: asyncio.AbstractEventLoop, leases: _Leases) -> None:
    _renew_later(loop, leases)
    if leases.renewal is None or leases.renewal.done():
        leases.renewal = loop.create_task(_renew(leases))


async def _renew(leases: _Leases) -> None:
    runs = dict(leases.runs)
    held, stopped = await pool.retry(actions.renew_leases, [ledger.claim for ledger in runs])
    for ledger, stop in runs.items():
        if ledger.claim.turn_id not in held - stopped:
            stop.set()
