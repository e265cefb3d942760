"""Measure every figure that has a goal, one benchmark after the other, in less than 15 minutes on two cores.

    .venv/bin/python -m benchmarks.all

Prints each figure with its goal as soon as it is measured. The ratio is that of the figure to its goal, turned round for
figures that should be high: at 1.00x or below, the goal is reached.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import (
    calls,
    cycles,
    decision_to_agent,
    flushes,
    in_process,
    pages,
    push,
    storage,
    stream_overhead,
    throughput,
    turns,
)
from benchmarks.figures import quantile
from benchmarks.stage import POSTGRESQL, SQLITE, stage
from tests.support.anthropic_server import AnthropicServer


@dataclass(frozen=True)
class Figure:
    """What was measured, and what it should be."""

    name: str
    measured: float
    goal: float
    unit: str = "ms"
    #: Whether it should be as high as possible.
    high: bool = False

    @property
    def ratio(self) -> float:
        return self.goal / self.measured if self.high else self.measured / self.goal

    @property
    def missed(self) -> bool:
        return self.ratio > 1.005

    def __str__(self) -> str:
        sign, missed = ">=" if self.high else "<=", "  missed" if self.missed else ""
        return f"{self.ratio:>6.2f}x  {self.name:<66}{self.measured:>9.2f}   {sign} {self.goal:g} {self.unit}{missed}"


def one_call() -> Iterator[Figure]:
    found = in_process.measured(100)
    goals = {"ask": (9, 5), "decide": (9, 5), "read": (2, 2)}
    for name, (statements, ms) in goals.items():
        taken, count, _ = found[SQLITE][name]
        yield Figure(f"{name}: statements (SQLite)", count, statements, "")
        yield Figure(
            f"{name}: CPU in one process (SQLite)", statistics.median(taken), ms
        )
        yield Figure(
            f"{name}: CPU in one process (PostgreSQL)",
            statistics.median(found[POSTGRESQL][name][0]),
            ms,
        )
    for name in ("ask", "decide"):
        yield Figure(
            f"{name}: write lock held (SQLite)",
            statistics.median(found[SQLITE][name][2]),
            2,
        )


def over_http() -> Iterator[Figure]:
    with stage(workers=0, HITL_WRONG_KEYS_PER_MINUTE="0") as found:
        spent = calls.measured(found, 200, 5)
    for name, goal in {"read": 4, "ask": 8, "decide": 8}.items():
        yield Figure(
            f"{name} over HTTP: CPU of the web process (PostgreSQL)",
            statistics.median(spent[name]),
            goal,
        )


def many_calls() -> Iterator[Figure]:
    with stage(webs=1, workers=1) as found:
        throughput.timed(found, 2, lambda program, _: program.ask(), range(20))
        began = time.monotonic()
        asked, _, _ = throughput.timed(
            found, 8, lambda program, _: program.ask(), range(1000)
        )
        throughput.timed(
            found, 8, lambda program, one: program.approve(one["id"]), asked
        )
        rate = 2 * len(asked) / (time.monotonic() - began)
        yield Figure(
            "asks and decisions, 8 clients, one web process (PostgreSQL)",
            rate,
            150,
            "a second",
            high=True,
        )
        waited = [decision_to_agent.by_long_poll(found) for _ in range(60)]
        yield Figure(
            "decision until the waiting agent has it, p50",
            statistics.median(waited),
            15,
        )
        yield Figure(
            "decision until the waiting agent has it, p95", quantile(waited, 0.95), 40
        )
        cycles.measured(found, cycles.with_a_wait, 5, 1)
        _, alone = cycles.measured(found, cycles.with_a_wait, 150, 1)
        _, eight = cycles.measured(found, cycles.with_a_wait, 60, 8)
        yield Figure(
            "REST cycles (ask, wait, decide), one at a time (PostgreSQL)",
            alone,
            60,
            "a second",
            high=True,
        )
        yield Figure(
            "REST cycles (ask, wait, decide), eight at a time (PostgreSQL)",
            eight,
            90,
            "a second",
            high=True,
        )


def chats() -> Iterator[Figure]:
    for database in (SQLITE, POSTGRESQL):
        with stage(database) as found:
            cycles.measured(found, cycles.in_a_chat, 3, 1)
            taken, _ = cycles.measured(found, cycles.in_a_chat, 30, 1)
            _, rate = cycles.measured(found, cycles.in_a_chat, 12, 8)
        yield Figure(f"chat cycle, alone ({database})", statistics.median(taken), 60)
        yield Figure(
            f"chat cycles, eight at a time ({database})",
            rate,
            30,
            "a second",
            high=True,
        )


def waits_for_the_disk() -> Iterator[Figure]:
    found = flushes.measured(10)
    for (name, measured), goal in zip(found.items(), (3, 3, 6, 6), strict=True):
        yield Figure(f"waits for the disk, {name}", measured, goal, "")


def streams() -> Iterator[Figure]:
    with AnthropicServer() as claude:
        ages = stream_overhead.from_a_worker(claude, 1, 5)
    yield Figure("stream from a worker: age of words, p50", statistics.median(ages), 15)
    yield Figure("stream from a worker: age of words, p95", quantile(ages, 0.95), 60)


def many_turns() -> Iterator[Figure]:
    with stage(workers=2) as found:
        asyncio.run(turns.at_once(found, 2))
        every = asyncio.run(turns.at_once(found, 200))
    assert all(one[2] for one in every), "a turn lost words"
    yield Figure(
        "200 turns begun at once, two workers: first word, p95",
        quantile([one[0] for one in every], 0.95),
        4000,
    )


def dashboards() -> Iterator[Figure]:
    ages = push.to_many(500, 10)
    yield Figure(
        "push to 500 dashboards in one process, p95", quantile(ages, 0.95), 300
    )


def inbox() -> Iterator[Figure]:
    for database in (SQLITE, POSTGRESQL):
        taken, _, _ = pages.measured(database, 20)["inbox, 50 rows"]
        yield Figure(
            f"page of the inbox with 50 rows: CPU ({database})",
            statistics.median(taken),
            25,
        )


def stored() -> Iterator[Figure]:
    kept, sent = storage.in_a_chat(100)
    yield Figure(
        "bytes stored for a byte of message, a chat of 100 pauses", kept / sent, 10, ""
    )


PARTS: tuple[Callable[[], Iterator[Figure]], ...] = (
    one_call,
    over_http,
    many_calls,
    chats,
    waits_for_the_disk,
    streams,
    many_turns,
    dashboards,
    inbox,
    stored,
)


def main() -> None:
    began = time.monotonic()
    print(f"{'ratio':>7}  {'figure':<66}{'measured':>9}   goal")
    for part in PARTS:
        for figure in part():
            print(figure, flush=True)
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    print(f"{'':>9}all in {minutes}:{seconds:02} minutes")


if __name__ == "__main__":
    main()
