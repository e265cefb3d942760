"""kill -9 after a tool has run, and a stop before the next runner comes."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from tests.proofs.crash.browser import GONE
from tests.proofs.crash.rounds import open_till, press, started_calls, told, verdict
from tests.proofs.crash.till import PATIENCE, open_requests, patiently

pytestmark = pytest.mark.crash


def test_a_stop_that_comes_before_the_next_runner_does_not_hide_the_result(template, tmp_path):
    with open_till(template, tmp_path) as till:
        till.alice.post("/chats/new/", agent="cashier", text="charge stopped")
        ((chat,),) = till.rows("SELECT id FROM chats_chat")
        for _ in patiently("the question"):
            if waiting := open_requests(till, chat):
                break
        ((request, kind),) = waiting
        till.control.write_text("recorded")
        with contextlib.suppress(*GONE):
            press(till, request, **verdict(till, kind, "stopped"))
        assert till.process is not None
        till.process.wait(PATIENCE)
        # A person had pressed Stop, and the runner died before it saw that.
        with contextlib.closing(sqlite3.connect(till.database)) as connection, connection:
            connection.execute("UPDATE chats_turn SET stopped = 1")
        till.up()
        for _ in patiently("the turn to stop"):
            if till.rows("SELECT state FROM chats_turn") == [("stopped",)]:
                break
        assert (till.kills, told(till, chat)) == (1, started_calls(till, chat))
        assert (told(till, chat).total(), till.lines(till.charges)) == (1, ["stopped"])
