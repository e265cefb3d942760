"""Measure every figure that has a goal, one benchmark after the other, in less than 15 minutes on two cores.

    .venv/bin/python -m benchmarks.all

Prints each figure with its goal as soon as it is measured, and at the end all of them as the Markdown table of README.md, a
line for each row of the table of goals. The ratio is that of the figure to its goal, turned round for figures that should be
high: at 1.00x or below, the goal is reached.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
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

#: The rows of the table of goals: what the figures of a row are, in their order, and what they were before.
ROWS = {
    "ask": ("ask: statements; CPU in one process (SQLite, PostgreSQL)", "18; 11.6"),
    "decide": ("decide: the same", "17; 12.2"),
    "read": ("read one request: the same", "4; 5.0"),
    "http": ("over HTTP, CPU of the web process (PostgreSQL): read, ask, decide", "14.6, 25, 26"),
    "lock": ("write lock of SQLite held: ask, decide", "not measured"),
    "rate": ("asks and decisions a second, 8 clients, one web process (PostgreSQL)", "30 to 35"),
    "rest": ("REST cycles a second (ask, wait, decide), 1 and 8 at a time (PostgreSQL)", "11, 10 to 14"),
    "wait": ("decision until the waiting agent has it, p50 and p95", "46, 58"),
    "chat": ("chat cycle, alone (SQLite, PostgreSQL)", "375"),
    "chats": ("chat cycles a second, 8 at a time (SQLite, PostgreSQL)", "2.7, 4.2"),
    "disk-rest": ("waits for the disk: REST without and with a result", "2.1"),
    "disk-chat": ("waits for the disk: chat with an approved tool; with an idempotent one before it", "8; 12.2"),
    "stream": ("stream from a worker: age of words, p50 and p95", "64, 269"),
    "turns": ("200 turns begun at once, two workers: first word, p95", "22,000"),
    "push": ("push to 500 dashboards in one process, p95", "816"),
    "inbox": ("page of the Inbox with 50 rows, CPU (SQLite, PostgreSQL)", "23, 34"),
    "stored": ("bytes stored for a byte of message, a chat of 100 pauses (PostgreSQL)", "98"),
}


@dataclass(frozen=True)
class Figure:
    """A figure of one of ROWS."""

    row: str
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

    @property
    def short(self) -> str:
        """The measured value in at most three digits, or whole."""
        whole = self.measured >= 20 or self.measured == int(self.measured)
        return f"{self.measured:,.0f}" if whole else f"{self.measured:.1f}"

    def __str__(self) -> str:
        sign, missed = ">=" if self.high else "<=", "  missed" if self.missed else ""
        return f"{self.ratio:>6.2f}x  {self.name:<66}{self.measured:>9.2f}   {sign} {self.goal:g} {self.unit}{missed}"


def markdown(figures: Sequence[Figure]) -> str:
    """Return the table of README.md."""
    lines = ["| ratio | figure | measured | goal | before |", "|---|---|---|---|---|"]
    for row, (words, before) in ROWS.items():
        found = [figure for figure in figures if figure.row == row]
        ratios = ", ".join(f"**{one.ratio:.2f}x**" if one.missed else f"{one.ratio:.2f}x" for one in found)
        measured, goals = ", ".join(one.short for one in found), dict.fromkeys(f"{one.goal:,g}" for one in found)
        lines.append(f"| {ratios} | {words} | {measured} | {', '.join(goals)} | {before} |")
    return "\n".join(lines)


def one_call() -> Iterator[Figure]:
    found = in_process.measured(100)
    goals = {"ask": (9, 5), "decide": (9, 5), "read": (2, 2)}
    for name, (statements, ms) in goals.items():
        taken, count, _ = found[SQLITE][name]
        yield Figure(name, f"{name}: statements (SQLite)", count, statements, "")
        yield Figure(name, f"{name}: CPU in one process (SQLite)", statistics.median(taken), ms)
        yield Figure(
            name, f"{name}: CPU in one process (PostgreSQL)", statistics.median(found[POSTGRESQL][name][0]), ms
        )
    for name in ("ask", "decide"):
        yield Figure("lock", f"{name}: write lock held (SQLite)", statistics.median(found[SQLITE][name][2]), 2)


def over_http() -> Iterator[Figure]:
    with stage(workers=0, HITL_WRONG_KEYS_PER_MINUTE="0") as found:
        spent = calls.measured(found, 200, 5)
    for name, goal in {"read": 4, "ask": 8, "decide": 8}.items():
        yield Figure(
            "http", f"{name} over HTTP: CPU of the web process (PostgreSQL)", statistics.median(spent[name]), goal
        )


def many_calls() -> Iterator[Figure]:
    with stage(webs=1, workers=1) as found:
        throughput.timed(found, 2, lambda program, _: program.ask(), range(20))
        began = time.monotonic()
        asked, _, _ = throughput.timed(found, 8, lambda program, _: program.ask(), range(1000))
        throughput.timed(found, 8, lambda program, one: program.approve(one["id"]), asked)
        rate = 2 * len(asked) / (time.monotonic() - began)
        yield Figure(
            "rate", "asks and decisions, 8 clients, one web process (PostgreSQL)", rate, 150, "a second", high=True
        )
        waited = [decision_to_agent.by_long_poll(found) for _ in range(60)]
        yield Figure("wait", "decision until the waiting agent has it, p50", statistics.median(waited), 15)
        yield Figure("wait", "decision until the waiting agent has it, p95", quantile(waited, 0.95), 40)
        cycles.measured(found, cycles.with_a_wait, 5, 1)
        _, alone = cycles.measured(found, cycles.with_a_wait, 150, 1)
        _, eight = cycles.measured(found, cycles.with_a_wait, 60, 8)
        yield Figure(
            "rest", "REST cycles (ask, wait, decide), one at a time (PostgreSQL)", alone, 60, "a second", high=True
        )
        yield Figure(
            "rest", "REST cycles (ask, wait, decide), eight at a time (PostgreSQL)", eight, 90, "a second", high=True
        )


def chats() -> Iterator[Figure]:
    for database in (SQLITE, POSTGRESQL):
        with stage(database) as found:
            cycles.measured(found, cycles.in_a_chat, 3, 1)
            taken, _ = cycles.measured(found, cycles.in_a_chat, 30, 1)
            _, rate = cycles.measured(found, cycles.in_a_chat, 12, 8)
        yield Figure("chat", f"chat cycle, alone ({database})", statistics.median(taken), 60)
        yield Figure("chats", f"chat cycles, eight at a time ({database})", rate, 30, "a second", high=True)


def waits_for_the_disk() -> Iterator[Figure]:
    found = flushes.measured(10)
    for (name, measured), goal in zip(found.items(), (3, 3, 6, 6), strict=True):
        row = "disk-chat" if name.startswith("chat") else "disk-rest"
        yield Figure(row, f"waits for the disk, {name}", measured, goal, "")


def streams() -> Iterator[Figure]:
    with AnthropicServer() as claude:
        ages = stream_overhead.from_a_worker(claude, 1, 5)
    yield Figure("stream", "stream from a worker: age of words, p50", statistics.median(ages), 15)
    yield Figure("stream", "stream from a worker: age of words, p95", quantile(ages, 0.95), 60)


def many_turns() -> Iterator[Figure]:
    with stage(workers=2) as found:
        asyncio.run(turns.at_once(found, 2))
        every = asyncio.run(turns.at_once(found, 200))
    assert all(one[2] for one in every), "a turn lost words"
    yield Figure(
        "turns",
        "200 turns begun at once, two workers: first word, p95",
        quantile([one[0] for one in every], 0.95),
        4000,
    )


def dashboards() -> Iterator[Figure]:
    ages = push.to_many(500, 10)
    yield Figure("push", "push to 500 dashboards in one process, p95", quantile(ages, 0.95), 300)


def inbox() -> Iterator[Figure]:
    for database in (SQLITE, POSTGRESQL):
        taken, _, _ = pages.measured(database, 20)["inbox, 50 rows"]
        yield Figure("inbox", f"page of the inbox with 50 rows: CPU ({database})", statistics.median(taken), 25)


def stored() -> Iterator[Figure]:
    kept, sent = storage.in_a_chat(100)
    yield Figure("stored", "bytes stored for a byte of message, a chat of 100 pauses", kept / sent, 10, "")


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
    figures: list[Figure] = []
    for part in PARTS:
        for figure in part():
            figures.append(figure)
            print(figure, flush=True)
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    print(f"{'':>9}all in {minutes}:{seconds:02} minutes\n")
    print(markdown(figures))


if __name__ == "__main__":
    main()
