"""Renew the leases of all turns that run on this loop, with one statement for all of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from approvals.runtime import database
from chats import actions
from chats.actions.claiming import RENEW_EVERY
from chats.engine.ledger import Ledger


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
    held, stopped = await database.retry(actions.renew_leases, [ledger.claim for ledger in runs])
    for ledger, stop in runs.items():
        if ledger.claim.turn_id not in held - stopped:
            stop.set()
