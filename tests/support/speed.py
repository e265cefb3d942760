"""What a fast test may not do: start a process, or take longer than two seconds. Here such a test fails, by name.

Everything is fast but what lies in `tests/contract/` and `tests/proofs/`. The seconds are those of this process's own
work and of its waiting; time in which the machine was busy with something else does not count, and a slow machine gets
more of them.
"""

from __future__ import annotations

import ast
import os
import sys
import time
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.root import ROOT

SLOW = ("tests/contract/", "tests/proofs/")
SECONDS = 2.0
#: How many times longer a test may take while its coverage is measured (`make coverage`).
TRACED = 3
STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"})
REMEDY = "move it to tests/contract/ or tests/proofs/, or make it smaller"
#: How often a module of the standard library is parsed to see how fast the machine is, and the seconds that it took once.
PARSED, PARSING = 5, 0.01
#: How long tasks of this machine have waited for a processor or a disk, in microseconds (Linux' pressure stall information).
PRESSURE = (Path("/proc/pressure/cpu"), Path("/proc/pressure/io"))

_watched: str | None = None
_started: list[str] = []


class StartsAProcess(Exception):
    """A fast test starts a process."""


def is_fast(item: pytest.Item) -> bool:
    """Whether the limits hold for a test. On PostgreSQL, which is slower, `make test` is only run by CI: none hold there."""
    return "DATABASE_URL" not in os.environ and not item.path.relative_to(ROOT).as_posix().startswith(SLOW)


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: Python calls it before a process starts, in whichever thread."""
    if event in STARTS and _watched is not None:
        _started.append(f"{event}{arguments[:1]}")
        raise StartsAProcess(f"{_watched} starts a process: {REMEDY}.")


sys.addaudithook(watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _watched
    _started.clear()
    _watched = item.nodeid if is_fast(item) else None
    try:
        return (yield)
    finally:
        _watched = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before, clock, work = stalled(), time.monotonic(), time.process_time()
    result = yield
    if is_fast(item):
        # Not only the exception: code under test may take it for a failure of its own and go on.
        assert not _started, f"{item.nodeid} starts a process ({_started[0]}): {REMEDY}."
        waited = time.monotonic() - clock - (stalled() - before)
        took = max(time.process_time() - work, waited)
        if took > SECONDS:
            most = SECONDS * slowness() * (TRACED if item.config.getoption("cov_source", None) else 1)
            assert took <= most, f"{item.nodeid} takes {took:.1f} s, and may take {most:.1f} s here: {REMEDY}."
    return result


def slowness() -> float:
    """How many times longer than on the machine for which the limit was chosen this one takes to parse a module; 1 or more."""
    source, work = Path(typing.__file__).read_text(), time.process_time()
    for _ in range(PARSED):
        ast.parse(source)
    return max(1.0, (time.process_time() - work) / PARSED / PARSING)


def stalled() -> float:
    """Seconds that this machine's tasks have waited for each other so far; without that figure only work counts."""
    try:
        return sum(int(path.read_text().split("total=")[1].split()[0]) for path in PRESSURE) / 1e6
    except OSError:
        return time.monotonic() if os.name == "posix" else 0.0
