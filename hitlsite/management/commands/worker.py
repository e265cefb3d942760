"""`manage.py worker`: run turns and the sweep without serving pages, in any number of processes."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.db import connections
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.management.refusing import RefusingCommand
from hitlsite.server import timeouts
from hitlsite.server.garbage import collect_garbage_rarely, keep_no_statements
from hitlsite.server.work import BackgroundWork


class Command(RefusingCommand):
    help = gettext_noop(
        "Run turns, deadlines and deliveries beside `serve` on PostgreSQL. On SIGTERM, hand over running turns."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.HITL_DISPATCH != "workers":
            raise CommandError(
                _(
                    "Turns run in `manage.py serve` with these settings. To use workers, set DATABASE_URL=postgresql://… "
                    "and leave HITL_DISPATCH unset, or set it to workers."
                )
            )
        timeouts.apply_limits(timeouts.WORK)
        self.check(databases=["default"])
        # Close the connection of the checks: the loop's thread needs none, and would keep it forever.
        connections.close_all()
        collect_garbage_rarely()
        keep_no_statements()
        asyncio.run(work())


async def work() -> None:
    """Run turns until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    background = BackgroundWork(loop, runs_turns=True, turns=settings.HITL_WORKER_TURNS)
    background.start()
    print(_("Pausepoint is running turns (press Ctrl+C to stop)"), flush=True)
    await over.wait()
    await background.stop()
