"""`manage.py worker`: run turns and the sweep without serving pages, in any number of processes."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.db import connections

from approvals.management.refusing import RefusingCommand
from hitlsite.server import timeouts
from hitlsite.server.work import BackgroundWork


class Command(RefusingCommand):
    help = "Run turns, deadlines and deliveries, beside `serve`, on PostgreSQL. Hands running turns over on SIGTERM."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.HITL_DISPATCH != "workers":
            raise CommandError(
                "Turns are run by `manage.py serve` here. For workers set DATABASE_URL=postgresql://… "
                "and leave HITL_DISPATCH unset (or set it to workers)."
            )
        timeouts.apply_limits(timeouts.WORK)
        self.check(databases=["default"])
        # Close the connection of the checks: the loop's thread needs none, and would keep it forever.
        connections.close_all()
        asyncio.run(work())


async def work() -> None:
    """Run turns until SIGTERM or SIGINT."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    background = BackgroundWork(loop, runs_turns=True, turns=settings.HITL_WORKER_TURNS)
    background.start()
    print("Pausepoint works on turns (Ctrl+C stops it)", flush=True)
    await over.wait()
    await background.stop()
