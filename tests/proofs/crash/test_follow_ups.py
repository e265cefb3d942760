"""kill -9 during reminders and escalation: each step is carried out and reported once, in order, by whichever sweep is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.crash.agents import HEARD
from tests.proofs.crash.points import CONTROL
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server, until

pytestmark = pytest.mark.crash

#: By point, whether the commit of the step was before the kill.
POINTS = {"_publish": False, "_carry_out_next": True}
STEPS = ["request.reminded", "request.escalated", "request.reminded"]
ASK = {"kind": "approval", "title": "Wharfage?", "tool_name": "pay", "input": {"amount": 1}, "agent": "wharfinger"}
REQUESTS = 6
#: The sweep carries nothing out before the file `go` is there. The process dies at its point in the step that `control` names.
PREPARE = """
import os, signal, time
from datetime import timedelta
from pathlib import Path
from approvals.actions.policy.duty import reminders
from approvals.outbound import outbox

outbox.CLAIM = timedelta(seconds=1)
go, control, point, reached = Path({go!r}), Path({control!r}), {point!r}, []

def wrap(name, before, after):
    original = getattr(reminders, name)
    def wrapped(*args, **kwargs):
        before(*args)
        result = original(*args, **kwargs)
        if name == point:
            after()
        return result
    setattr(reminders, name, wrapped)

def wait(_request_id):
    while not go.exists():
        time.sleep(0.01)

def die():
    if reached and control.exists() and int(control.read_text()) == reached[-1]:
        os.kill(os.getpid(), signal.SIGKILL)

def note(_locked, _step, number):
    reached.append(number)

wrap("_publish", note, die)
wrap("_carry_out_next", wait, die)
"""
#: All requests wait since January, so that all their steps are due at once.
LATE = """
from datetime import datetime, UTC
from approvals.actions.policy.duty.reminders import schedule_follow_ups
from approvals.models import ApprovalRequest
from approvals.policy.terms import FollowUpStep, Terms
terms = Terms(reminders=(3600, 3 * 3600), escalation=(FollowUpStep(after=2 * 3600, people=(1,)),))
asked = ApprovalRequest.objects.filter(title="Wharfage?")
asked.update(terms=terms.document(), created_at=datetime(2026, 1, 1, tzinfo=UTC))
for request in asked:
    schedule_follow_ups(request)
"""


class Story:
    """Servers whose sweep waits for the file `go`, and the results of the steps."""

    def __init__(self, folder: Path, database: str, point: str) -> None:
        self.go, self.control, self.heard = folder / "go", folder / "control", folder / "heard"
        self.folder = folder
        self.prepare = PREPARE.format(go=str(self.go), control=str(self.control), point=point)
        self.server = self.serve(database=database)

    def serve(self, **more: Any) -> Server:
        """A server with a handler that notes its events."""
        settings = {
            "HITL_EVENT_HANDLERS": "tests.proofs.crash.agents.hear",
            HEARD: str(self.heard),
            CONTROL: str(self.folder / "never"),
        }
        return Server(self.folder, prepare=self.prepare, **more, **settings)

    def ask(self, count: int) -> None:
        agent = Remote(self.server, "requester", ("ask",))
        for _ in range(count):
            assert agent.send("POST", "/requests", ASK).status == 201
        self.server.run(LATE)

    def die_in(self, step: int, *servers: Server) -> None:
        """Let the servers sweep until each has died in this step, or no server is left that would."""
        self.control.write_text(str(step))
        self.go.touch()
        for server in servers:
            assert server.process is not None
            server.process.wait(PATIENCE)
        self.control.unlink()
        self.go.unlink()

    def finish(self) -> None:
        self.go.touch()
        until(lambda: not self.server.rows("SELECT 1 FROM approvals_followup"), "all steps are carried out")
        until(
            lambda: not self.server.rows("SELECT 1 FROM approvals_outboxevent WHERE delivered_at IS NULL"),
            "all events are delivered",
        )

    def steps(self) -> dict[str, list[str]]:
        """The steps on record, in order, by request."""
        return self._by_first(
            self.server.rows(
                "SELECT request_id, event FROM approvals_auditentry "
                "WHERE event IN ('request.reminded', 'request.escalated') ORDER BY id"
            )
        )

    def reported(self) -> dict[str, list[str]]:
        """The steps from the handler's events, in order, by stream; a repeated event with the same id counts once."""
        lines = list(dict.fromkeys(self.heard.read_text().splitlines()))
        rows = [line.split(" ") for line in lines]
        return self._by_first((stream, name) for stream, _id, name in rows if name in STEPS)

    def notices(self) -> int:
        """How many events people were to be notified of."""
        return int(self.server.value("SELECT count(*) FROM approvals_outboxevent WHERE channel = 'notice'"))

    def _by_first(self, rows: Any) -> dict[str, list[str]]:
        by_first: dict[str, list[str]] = {}
        for first, event in rows:
            by_first.setdefault(first, []).append(event)
        return by_first


@contextmanager
def story(folder: Path, database: str, point: str = "") -> Iterator[Story]:
    told = Story(folder, database, point)
    with told.server:
        yield told


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_in_each_step_repeats_none_and_leaves_none_out(point, database, tmp_path):
    with story(tmp_path, database, point) as told:
        told.ask(1)
        for number in (1, 2, 3):
            told.die_in(number, told.server)
            stored = number if POINTS[point] else number - 1
            assert [len(steps) for steps in told.steps().values()] == ([stored] if stored else [])
            told.server.start()
        told.finish()
        assert list(told.steps().values()) == list(told.reported().values()) == [STEPS]
        assert told.notices() == len(STEPS)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_of_two_sweeps_one_goes_on_where_the_other_was_killed(database, tmp_path):
    with story(tmp_path, database, "_publish") as told, told.serve(beside=told.server) as other:
        told.ask(REQUESTS)
        # In the middle of the requests: both sweep, and both die in the second step of some request.
        told.die_in(2, told.server, other)
        told.server.start()
        other.start()
        told.finish()
        assert list(told.steps().values()) == list(told.reported().values()) == [STEPS] * REQUESTS
        assert told.notices() == REQUESTS * len(STEPS)


def test_two_sweeps_at_once_carry_out_each_step_once(tmp_path):
    with story(tmp_path, "postgresql") as told, told.serve(beside=told.server):
        told.ask(4 * REQUESTS)
        told.finish()
        assert list(told.steps().values()) == list(told.reported().values()) == [STEPS] * 4 * REQUESTS
        assert told.notices() == 4 * REQUESTS * len(STEPS)
