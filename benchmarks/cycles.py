"""Measure the time of a cycle (pause, decide, resume) and the cycles per second, over REST and in a chat.

    .venv/bin/python -m benchmarks.cycles [--cycles 20] [--at-once 1 8]

REST: ask, decide, report the result; or ask, wait on another connection, decide, have the answer. Chat: message, approval,
the approved tool run, the end; its answer streams to the client, which decides inside it. One web process and one worker
with Redis on PostgreSQL, one process on SQLite.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from benchmarks.figures import Table
from benchmarks.load.program import Program
from benchmarks.stage import POSTGRESQL, SQLITE, Stage, stage

Cycle = Callable[[Program], object]


def ask_and_decide(program: Program) -> dict[str, Any]:
    asked = program.ask()
    program.approve(asked["id"])
    return asked


def over_rest(program: Program) -> None:
    program.report(ask_and_decide(program))


def with_a_wait(program: Program, **more: Any) -> None:
    """Ask, wait, let another connection decide, and get the answer of the long poll."""
    asked = program.ask(**more)
    agent = program.second()
    agent.line.request(
        "GET", f"/api/v1/requests/{asked['id']}?wait=60", headers=agent.headers
    )
    program.approve(asked["id"])
    assert json.loads(agent.line.getresponse().read())["status"] == "approved"


def in_a_chat(program: Program) -> None:
    chat = uuid4().hex
    program.pause(chat)
    told = program.answer(chat)
    assert "Done: " in told, told


def measured(
    found: Stage, cycle: Cycle, cycles: int, at_once: int
) -> tuple[list[float], float]:
    """Return the ms of each cycle, and the cycles per second."""

    def some(number: int) -> list[float]:
        program, taken = found.program(number), []
        for _ in range(cycles):
            began = time.monotonic()
            cycle(program)
            taken.append((time.monotonic() - began) * 1000)
        program.close()
        return taken

    began = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        every = [one for taken in pool.map(some, range(at_once)) for one in taken]
    return every, len(every) / (time.monotonic() - began)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cycles", type=int, default=20, help="of each client")
    options.add_argument(
        "--at-once", type=int, nargs="+", default=[1, 8], help="clients"
    )
    given = options.parse_args()
    table = Table("one cycle", "ms", "cycles/s")
    for database in (POSTGRESQL, SQLITE):
        with stage(database) as found:
            for name, cycle in (
                ("REST", over_rest),
                ("REST with a wait", with_a_wait),
                ("chat", in_a_chat),
            ):
                measured(found, cycle, 2, 1)
                for at_once in given.at_once:
                    taken, rate = measured(found, cycle, given.cycles, at_once)
                    table.row(
                        f"{database}, {name}, {at_once} at once", taken, f"{rate:.1f}"
                    )


if __name__ == "__main__":
    main()
