"""Measure the CPU that one call costs the web process over HTTP: read, ask, decide, and what every call costs.

    .venv/bin/python -m benchmarks.calls [--calls 300] [--rounds 5]

One client with one kept connection. `healthz` is answered in front of Django, so it is the price of HTTP itself; a client
without a key is refused by Django's middleware.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks.figures import Table
from benchmarks.load.costs import cpu
from benchmarks.load.program import Program
from benchmarks.stage import POSTGRESQL, SQLITE, Stage, stage


def spent(found: Stage, call: Callable[[int], Any], calls: int) -> float:
    """Return the ms of CPU that the web process uses for each call."""
    (web,) = found.webs
    before = cpu(web)
    for number in range(calls):
        call(number)
    return (cpu(web) - before) * 1000 / calls


def measured(found: Stage, calls: int, rounds: int) -> dict[str, list[float]]:
    """Return the ms of each kind of call, one figure for each round."""
    program, nobody = found.program(), Program(found.ports[0], "pp_00000000_nobody")
    asked: list[str] = []
    steps: dict[str, Callable[[int], Any]] = {
        "healthz": lambda _: program.open("GET", "/healthz").read(),
        "refused": lambda _: nobody.open("GET", "/api/v1/requests").read(),
        "ask": lambda _: asked.append(program.ask()["id"]),
        "read": lambda number: program.send("GET", f"/api/v1/requests/{asked[number]}"),
        "decide": lambda number: program.approve(asked[number]),
    }
    taken: dict[str, list[float]] = {step: [] for step in steps}
    for counted in range(rounds + 1):
        asked.clear()
        for step, call in steps.items():
            one = spent(found, call, calls)
            # The first round warms up.
            taken[step] += [one] if counted else []
    for line in (program, nobody):
        line.close()
    return taken


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--calls", type=int, default=300)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    table = Table("CPU of one call over HTTP, in the web process")
    for database in (SQLITE, POSTGRESQL):
        with stage(database, workers=0, HITL_WRONG_KEYS_PER_MINUTE="0") as found:
            for step, values in measured(found, given.calls, given.rounds).items():
                table.row(f"{database}, {step}", values)


if __name__ == "__main__":
    main()
