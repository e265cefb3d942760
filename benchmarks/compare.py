"""Compare what a cycle costs in this checkout with what it costs in another one: both take turns, in one run.

    .venv/bin/python -m benchmarks.compare PATH [--rounds 14] [--cycles 50] [--databases PostgreSQL]

PATH is the folder of the other checkout. REST: ask, decide. Chat: the cycle of `peers`, by an AI SDK client. CPU is that of
the web process, which also runs the turns, and of all processes of its PostgreSQL; the time is that of the whole cycle,
one at a time. The ratio is the median of those of the rounds, with their range: below 1.00x, this checkout costs less. The
system counts CPU in steps of 10 ms, so fewer cycles in a round measure it less exactly.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from benchmarks import cycles
from benchmarks.figures import Figures, in_turns, print_pairs
from benchmarks.load.costs import cpu_of_all
from benchmarks.peers.contenders import Ours, in_a_chat
from benchmarks.stage import POSTGRESQL, SQLITE, checkout, postgresql, projects, stage

CYCLES: dict[str, cycles.Cycle] = {
    "REST": cycles.ask_and_decide,
    "REST with a wait": cycles.with_a_wait,
    "chat": in_a_chat,
}


class Checkout:
    """One checkout at work: its clients by kind of cycle, and the processes that it uses by name."""

    def __init__(self, clients: dict[str, Ours], processes: dict[str, int]) -> None:
        self.clients, self.processes = clients, processes

    def measure(self, count: int) -> dict[str, float]:
        """Run so many cycles of each kind. Return the ms that one of them has cost, by figure."""
        costs = {}
        for kind, client in self.clients.items():
            before = self._used()
            seconds = client.batch(1, count)
            for name, used in self._used().items():
                costs[f"{kind}, CPU of {name}"] = (used - before[name]) * 1000 / count
            costs[f"{kind}, time"] = seconds * 1000 / count
        return costs

    def _used(self) -> dict[str, float]:
        return {name: cpu_of_all(pid) for name, pid in self.processes.items()}


@contextmanager
def started(database: str, project: Path) -> Iterator[Checkout]:
    """Start a checkout on a database of its own, and run the first cycles, which import, compile and connect."""
    with (
        postgresql() if database == POSTGRESQL else nullcontext() as cluster,
        stage(
            database, workers=0, redis=False, cluster=cluster, project=project
        ) as found,
    ):
        processes = {"the web process": found.webs[0]}
        if cluster is not None and cluster.process is not None:
            processes["PostgreSQL"] = cluster.process.pid
        working = Checkout(
            {kind: Ours(kind, found, cycle, 1) for kind, cycle in CYCLES.items()},
            processes,
        )
        working.measure(5)
        yield working


def compared(
    database: str, before: Path, rounds: int, count: int
) -> dict[str, Figures]:
    """Return the costs in ms of both checkouts."""
    with ExitStack() as stack:
        working = {
            name: stack.enter_context(started(database, path))
            for name, path in projects(before).items()
        }
        return in_turns(
            {
                name: functools.partial(one.measure, count)
                for name, one in working.items()
            },
            rounds,
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "before", type=checkout, metavar="PATH", help="the other checkout"
    )
    options.add_argument("--rounds", type=int, default=14)
    options.add_argument(
        "--cycles", type=int, default=50, help="of each kind in a round"
    )
    options.add_argument(
        "--databases",
        nargs="+",
        choices=[POSTGRESQL, SQLITE],
        default=[POSTGRESQL, SQLITE],
    )
    given = options.parse_args()
    for database in given.databases:
        costs = compared(database, given.before, given.rounds, given.cycles)
        print_pairs(f"{database}: ms of one cycle", costs)


if __name__ == "__main__":
    main()
