"""kill -9 while a request with files is made: nothing is visible before the commit, nothing lost after it, nothing left over."""

from __future__ import annotations

import http.client

import pytest

from tests.support.desk.files import TEXT, attachment, stored_names
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server, until

pytestmark = pytest.mark.crash

#: Wraps a function so that the process dies once, before or after it, if the control file is there.
PREPARE = """
import os, signal
from pathlib import Path
from approvals.actions import asking, attachments

def die():
    control = Path({control!r})
    if control.exists():
        control.unlink()
        os.kill(os.getpid(), signal.SIGKILL)

original = {owner}.{name}
def wrapped(*args, **kwargs):
    result = original(*args, **kwargs)
    die()
    return result
{owner}.{name} = wrapped
"""
#: By point, how many files the kill leaves, and whether the request was made.
POINTS = {
    ("attachments", "_save"): (1, False),
    ("attachments", "attach"): (2, False),
    ("asking", "_ask_until_alone"): (2, True),
}
BODY = {"attachments": [attachment(TEXT, "a.txt"), attachment(TEXT, "b.txt")]}


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_files_are_stored_loses_nothing_and_leaves_nothing(point, tmp_path):
    control, files = tmp_path / "control", tmp_path / "attachments"
    left, made = POINTS[point]
    owner, name = point
    with Server(tmp_path, prepare=PREPARE.format(control=str(control), owner=owner, name=name)) as server:
        agent = Remote(server, "requester", ("ask", "read"))
        control.write_text("")
        with pytest.raises((http.client.HTTPException, OSError)):
            agent.send("POST", "/requests", ask(), **{"Idempotency-Key": "pay-1"})
        assert server.process is not None
        server.process.wait(PATIENCE)
        server.start()
        assert (len(stored_names(files)), len(titles(agent))) == (left, int(made))

        again = agent.send("POST", "/requests", ask(), **{"Idempotency-Key": "pay-1"})
        assert (again.status, [file["name"] for file in again.body["attachments"]]) == (
            200 if made else 201,
            ["a.txt", "b.txt"],
        )
        # An hour later.
        server.rows("UPDATE approvals_requestattachment SET erase_at = '2026-01-01 00:00:00' WHERE request_id IS NULL")
        until(lambda: len(stored_names(files)) == 2, "the sweep of what was left over")
        until(lambda: server.rows("SELECT COUNT(*) FROM approvals_requestattachment") == [(2,)], "no row is left over")
        for file in again.body["attachments"]:
            path = file["url"].partition("/api/v1")[2]
            assert agent.send("GET", path).body.encode() == TEXT


def ask() -> dict:
    return {"kind": "approval", "title": "Wharfage?", "tool_name": "pay", "input": {"amount": 1}, **BODY}


def titles(agent: Remote) -> list[str]:
    return [each["title"] for each in agent.send("GET", "/requests?text=Wharfage").body["items"]]
