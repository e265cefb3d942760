"""The queue of this process's threads for a row that another transaction holds."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from approvals.db import transactions
from approvals.db.transactions import PLACES, STUCK, LineTooLong, in_line, record_progress
from tests.support.processes.server import until


def test_a_full_queue_is_stuck_until_a_thread_takes_the_lock_even_past_it(monkeypatch):
    now = 0.0
    monkeypatch.setattr(transactions, "monotonic", lambda: now)
    entered = threading.Event()

    def enter() -> None:
        with in_line("row"):
            entered.set()

    late = threading.Thread(target=enter)
    with ExitStack() as full:
        for _ in range(PLACES):
            full.enter_context(in_line("row"))
        now = STUCK
        with pytest.raises(LineTooLong), in_line("row"):
            pass
        record_progress("row")
        late.start()
        until(lambda: not late.is_alive() or transactions._moved._waiters, "the thread waits or was refused")
    late.join()
    assert entered.is_set()


def test_a_lock_that_no_one_waits_for_has_no_queue():
    record_progress("row")
    assert transactions._lines == {}
