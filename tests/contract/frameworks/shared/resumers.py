"""Shared by the programs that store a run at Pausepoint and resume it: `stored.py THREAD FOLDER begin|resume HOW_MANY`.

They leave a line in FOLDER/ran for each tool that runs. HANG=tool or HANG=model never returns from there.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import program
from pausepoint import AsyncDesk

_given = dict(enumerate(sys.argv))
THREAD, FOLDER, MODE = _given[1], Path(_given.get(2, ".")), _given.get(3, "")
HOW_MANY = int(_given.get(4, "1"))
LEASE = int(os.environ.get("LEASE", "60"))


def ran(what: str) -> None:
    """Note that something runs now, in this process or another one."""
    with (FOLDER / "ran").open("a") as file:
        file.write(f"{what}\n")


def hang_in(where: str) -> None:
    if os.environ.get("HANG") == where:
        ran(f"{where} waits")
        threading.Event().wait()


def refund(order: str, amount: int) -> str:
    """Refund an order."""
    ran(f"refund {order} {amount}")
    hang_in("tool")
    return f"refunded {amount}"


def drop(table: str) -> str:
    """Drop a table."""
    ran(f"drop {table}")
    return "dropped"


def resume_together(resume: Callable[[int], Any]) -> None:
    """Resume in so many threads at the same moment, also of other processes; tell what each has got."""
    found: list[Any] = [None] * HOW_MANY
    ready = threading.Barrier(HOW_MANY + 1)

    def run(place: int) -> None:
        ready.wait()
        while not (FOLDER / "go").exists():
            time.sleep(0.001)
        found[place] = resume(place)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(HOW_MANY)]
    for thread in threads:
        thread.start()
    ready.wait()
    print("ready", flush=True)
    for thread in threads:
        thread.join()
    program.tell(found=found)


def until_free(resume: Callable[[], Any]) -> Any:
    """Resume; with AGAIN, as soon as no other process does."""
    while (found := resume()).status == "taken" and "AGAIN" in os.environ:
        time.sleep(0.1)
    return found


def resume_stored(page: Callable[[AsyncDesk], dict[str, Any]], agent: str) -> Any:
    """Resume the run of the request in the arguments, with the agent of that name on the page."""

    async def once() -> Any:
        async with AsyncDesk() as desk:
            names = page(desk)
            if LEASE == 60:
                return await names["go_on"](sys.argv[5])
            return await names["resume_from_desk"](names[agent], desk, sys.argv[5], lease=LEASE)

    return until_free(lambda: asyncio.run(once()))
