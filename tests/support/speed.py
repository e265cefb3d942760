"""Make fast tests fail that start a process; list the slow ones.

All tests outside `tests/contract/` and `tests/proofs/` are fast ones. A slow one is no failure: the time that a machine takes
says nothing about the code, and a limit in seconds fails on a slow day.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest

from tests.support.root import ROOT

SLOW = ("tests/contract/", "tests/proofs/")
#: From how many seconds of this process's own work on a test is listed.
SECONDS = 2.0
STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"})
REMEDY = "move it to tests/contract/ or tests/proofs/, or make it smaller"
WORK = "seconds of work"

_watched: str | None = None
_started: list[str] = []


class StartsAProcess(Exception):
    """A fast test starts a process."""


def is_fast(item: pytest.Item) -> bool:
    """Whether a test has to be fast. On PostgreSQL, which is slower, `make test` is only run by CI: none has to be there."""
    return "DATABASE_URL" not in os.environ and not item.path.relative_to(ROOT).as_posix().startswith(SLOW)


def watch(event: str, arguments: tuple[object, ...], starts: frozenset[str] = STARTS) -> None:
    """An audit hook: Python calls it before a process starts, in whichever thread, even while it unloads this module."""
    if event in starts and _watched is not None:
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
    work = time.process_time()
    result = yield
    if is_fast(item):
        # Not only the exception: code under test may take it for a failure of its own and go on.
        assert not _started, f"{item.nodeid} starts a process ({_started[0]}): {REMEDY}."
        item.user_properties.append((WORK, time.process_time() - work))
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    took = [(dict(report.user_properties).get(WORK, 0.0), report.nodeid) for report in reports]
    if slow := sorted((found for found in took if found[0] > SECONDS), reverse=True):
        terminalreporter.section(f"fast tests that take more than {SECONDS:g} s: {REMEDY}")
        for seconds, name in slow:
            terminalreporter.write_line(f"{seconds:6.1f} s  {name}")
