"""kill -9 between a tool's last line and what the stored stream says of it, with sub-agents and stops in between."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest

from tests.proofs.crash import test_nested_points, test_write_points
from tests.proofs.crash.browser import GONE
from tests.proofs.crash.rounds import open_till, press, verdict
from tests.proofs.crash.till import Till, open_requests, patiently
from tests.support.services import ROUNDS

OWN = ("side effect done but not recorded", "recorded, in", "recorded")
BELOW = ("recorded", "the end below", "settling, in", "settling")

pytestmark = pytest.mark.crash


def told(till: Till) -> dict[str, int]:
    """How often the stored streams tell the result of each call."""
    found: dict[str, int] = {}
    for (chunk,) in till.rows("SELECT chunk FROM chats_turnevent ORDER BY turn_id, seq"):
        event = json.loads(chunk)
        if event["event"] in {"ToolSucceeded", "ToolFailed"}:
            found[event["tool_call_id"]] = found.get(event["tool_call_id"], 0) + 1
    return found


def once_each(till: Till) -> dict[str, int]:
    return {call: 1 for (call,) in till.rows("SELECT tool_call_id FROM chats_toolcall WHERE attempt > 0")}


@pytest.mark.parametrize("point", OWN)
def test_a_kill_here_leaves_no_result_untold(point, template, tmp_path):
    with open_till(template, tmp_path, point) as till:
        for number in range(ROUNDS):
            test_write_points.play_round(till, f"told-{number}")
        assert (till.kills, told(till)) == (ROUNDS, once_each(till))


@pytest.mark.parametrize("point", BELOW)
def test_nor_does_one_between_two_agents(point, template, tmp_path):
    with open_till(template, tmp_path, point) as till:
        for number in range(ROUNDS):
            test_nested_points.play_round(till, f"told-{number}")
        assert (till.kills, told(till)) == (ROUNDS, once_each(till))
        assert len(told(till)) == 2 * ROUNDS


def test_a_stop_that_comes_before_the_next_runner_does_not_hide_the_result(template, tmp_path):
    with open_till(template, tmp_path, "recorded") as till:
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
        till.process.wait(60)
        # Somebody had pressed Stop, and the runner was dead before it saw that.
        with contextlib.closing(sqlite3.connect(till.database)) as connection, connection:
            connection.execute("UPDATE chats_turn SET stopped = 1")
        till.up()
        for _ in patiently("the turn to stop"):
            if till.rows("SELECT state FROM chats_turn") == [("stopped",)]:
                break
        assert (till.kills, told(till)) == (1, once_each(till))
        assert till.lines(till.charges) == ["stopped"]
