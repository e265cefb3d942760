"""Compare how long a web process takes to start, and what memory it holds at rest, with those of another checkout.

    .venv/bin/python -m benchmarks.start PATH [--rounds 14] [--rest 3]

PATH is the folder of the other checkout. Measured is `manage.py serve` on PostgreSQL: the time until `/healthz` answers, and
the CPU up to then; and its resident memory, after `--rest` seconds in which nobody asks anything. Both checkouts take turns,
and each process finds its bytecode. The ratio is the median of those of the rounds, with their range: below 1.00x, this
checkout needs less.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack

from benchmarks.figures import in_turns, print_pairs
from benchmarks.load.costs import cpu, memory
from benchmarks.stage import checkout, postgresql, projects, stage
from tests.support.processes.deployed import Site
from tests.support.processes.ports import free_port
from tests.support.processes.server import until


def measure(site: Site, rest: float) -> dict[str, float]:
    """Start a web process as an operator does: not forked from one that has its libraries, as those of tests are."""
    port = free_port()
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    with (site.logs / "start.log").open("wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=site.project, env=site.env, stdout=log, stderr=log
        )
    try:
        until(
            lambda: (
                process.poll() is not None or site.ask("/healthz", port=port)[0] == 200
            ),
            "`/healthz` answers",
        )
        seconds, used = time.monotonic() - began, cpu(process.pid)
        time.sleep(rest)
        assert process.poll() is None, site.said()
        return {
            "start to /healthz, s": seconds,
            "CPU of it, s": used,
            "memory at rest, MiB": memory(process.pid) / 1024,
        }
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "before", type=checkout, metavar="PATH", help="the other checkout"
    )
    options.add_argument("--rounds", type=int, default=14)
    options.add_argument("--rest", type=float, default=3, help="seconds")
    given = options.parse_args()
    with ExitStack() as stack:
        cluster = stack.enter_context(postgresql())
        bytecode = stack.enter_context(tempfile.TemporaryDirectory())
        settings = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        measures = {}
        for name, project in projects(given.before).items():
            found = stack.enter_context(
                stage(
                    webs=0,
                    workers=0,
                    redis=False,
                    cluster=cluster,
                    project=project,
                    **settings,
                )
            )
            measures[name] = functools.partial(measure, found.site, given.rest)
            # The first one writes the bytecode.
            measures[name]()
        print_pairs("a web process", in_turns(measures, given.rounds))


if __name__ == "__main__":
    main()
