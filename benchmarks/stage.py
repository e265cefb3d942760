"""Start installations to measure: real processes on a PostgreSQL with fsync, or on SQLite; with or without Redis."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from benchmarks.load.program import Program, make_key
from tests.proofs.team.agents import AGENTS
from tests.support.processes import redis_server
from tests.support.processes.deployed import Site
from tests.support.processes.postgres import Cluster
from tests.support.processes.shared import PEOPLE
from tests.support.root import ROOT

POSTGRESQL, SQLITE = "PostgreSQL", "SQLite"


@dataclass
class Stage:
    """One running installation: its site, the ports of its web processes, its database, and the keys of two people who
    may decide: the one asks, the other approves what was asked.
    """

    site: Site
    key: str
    decider: str
    url: str
    ports: list[int] = field(default_factory=list)

    def program(self, number: int = 0) -> Program:
        return Program(self.ports[number % len(self.ports)], self.key, self.decider)

    @property
    def webs(self) -> list[int]:
        """Return the process ids."""
        return [process.pid for process in self.site.processes[: len(self.ports)]]

    @property
    def workers(self) -> list[int]:
        return [process.pid for process in self.site.processes[len(self.ports) :]]


@contextmanager
def stage(
    database: str = POSTGRESQL,
    *,
    webs: int = 1,
    workers: int = 1,
    redis: bool = True,
    cluster: Cluster | None = None,
    project: Path = ROOT,
    **settings: str,
) -> Iterator[Stage]:
    """Start a new installation, and remove it at the end of the block. On SQLite it is one process.

    Its database is on `cluster`, or on a cluster of its own. `project` may be another checkout.
    """
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="pausepoint-bench-"))
        )
        # As in production: with DEBUG, Django would keep a copy of every statement.
        served = {"DEBUG": "0", "ALLOWED_HOSTS": "127.0.0.1,localhost"}
        url, more = (
            f"sqlite:///{folder}/desk.sqlite3",
            served | {"HITL_AGENTS": AGENTS, "HITL_ASKS_PER_MINUTE": "0"} | settings,
        )
        if database == POSTGRESQL:
            url = new_database(cluster or stack.enter_context(postgresql()))
            if redis:
                more["REDIS_URL"] = redis_server.started().url
            if not workers:
                more["HITL_DISPATCH"] = "here"
        site = Site(folder, project=project, **{"DATABASE_URL": url} | more)
        stack.callback(site.kill)
        site.manage("migrate", "--no-input")
        site.manage("collectstatic", "--no-input")
        site.run(PEOPLE)
        found = Stage(site, make_key(site), make_key(site, "admin"), url)
        for _ in range(webs if database == POSTGRESQL else min(webs, 1)):
            found.ports.append(site.serve())
        for _ in range(workers if database == POSTGRESQL else 0):
            site.work()
        yield found


@contextmanager
def postgresql(**settings: str) -> Iterator[Cluster]:
    """Start a cluster with fsync and otherwise the defaults of PostgreSQL, and remove it at the end of the block."""
    cluster = Cluster()
    try:
        cluster.start(fsync="on", **settings)
        yield cluster
    finally:
        cluster.remove()


def new_database(cluster: Cluster) -> str:
    """Return the URL of a new database."""
    name = f"bench_{uuid4().hex[:8]}"
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return cluster.url(name)


def checkout(path: str) -> Path:
    """Return the folder of another checkout; for options of commands."""
    folder = Path(path).resolve()
    if not (folder / "manage.py").is_file():
        raise argparse.ArgumentTypeError(
            f"{folder} has no manage.py: name the folder of another checkout."
        )
    return folder


def add_before(options: argparse.ArgumentParser) -> None:
    """Add the option that names another checkout, which is then measured too."""
    options.add_argument(
        "--before",
        type=checkout,
        metavar="PATH",
        help="another checkout, to be measured too",
    )


def projects(before: Path | None) -> dict[str, Path]:
    """Return the checkouts to measure, by name."""
    return ({"before": before} if before else {}) | {"now": ROOT}


def measured(
    description: str | None, fill: str, measure: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fill the database of an installation and measure it, on each database that the command line names.

    `fill` and `measure` are programs for the site, with `{number}` of requests and `{rounds}`; the last line that `measure`
    prints is JSON. Yields a title and that.
    """
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--requests", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument(
        "--databases",
        nargs="+",
        choices=[POSTGRESQL, SQLITE],
        default=[POSTGRESQL, SQLITE],
    )
    given = options.parse_args()
    for database in given.databases:
        with stage(database, workers=1, redis=False) as found:
            program = found.program()
            program.approve(program.ask()["id"])
            found.site.stop()
            found.site.run(fill.format(number=given.requests))
            printed = found.site.run(measure.format(rounds=given.rounds))
        yield (
            f"{database}, {given.requests:,} requests",
            json.loads(printed.splitlines()[-1]),
        )
