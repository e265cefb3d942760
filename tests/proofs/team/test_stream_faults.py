"""Lost commits, wrong clocks and frozen workers: streams stay complete."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from benchmarks.load.flushes import log_writer_held
from tests.proofs.team.desk import STARTING, Desk, copied_database
from tests.proofs.team.odd_launcher import FREEZE
from tests.proofs.team.reciter import FIRST, HELD, REST
from tests.proofs.team.windows import say
from tests.support.processes.deployed import new_cluster
from tests.support.processes.server import until
from tests.support.services import ROUNDS, real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("real_processes")]

WHOLE = f"{FIRST} {HELD} {REST}"


class OddDesk(Desk):
    """`worker 1` may freeze, and the clock of `worker 2` is wrong."""

    def __init__(self, folder: Path, **settings: str) -> None:
        super().__init__(folder, **settings)
        self.freeze = folder / "freeze"
        self.odd = {"worker 1": {FREEZE: str(self.freeze)}, "worker 2": {"CLOCK_AHEAD": "90"}}

    def launch(self, name: str) -> None:
        if name not in self.odd:
            return super().launch(name)
        with (self.logs / f"{name}.log").open("ab") as log:
            command = ["-m", "tests.proofs.team.odd_launcher", "worker"]
            self.running[name] = self.forks.start(command, log, **(self.env | self.odd[name]))

    def stream(self, chat: int) -> list[dict[str, object]]:
        """The stored streams of a conversation and of those below it."""
        rows = self.rows(
            "SELECT e.chunk::text FROM chats_turnevent e JOIN chats_turn t ON t.id = e.turn_id "
            "JOIN chats_chat c ON c.id = t.chat_id WHERE %s IN (c.id, c.root_id) ORDER BY t.id, e.seq",
            chat,
        )
        return [json.loads(chunk) for (chunk,) in rows]

    def text(self, chat: int) -> str:
        return "".join(str(chunk["text"]) for chunk in self.stream(chat) if chunk["event"] == "TextDelta")

    def results(self, chat: int) -> list[object]:
        return [
            chunk["tool_call_id"] for chunk in self.stream(chat) if chunk["event"] in {"ToolSucceeded", "ToolFailed"}
        ]

    def ran(self, chat: int) -> list[object]:
        calls = "SELECT t.tool_call_id FROM chats_toolcall t JOIN chats_chat c ON c.id = t.chat_id WHERE t.attempt > 0"
        return [call for (call,) in self.rows(f"{calls} AND %s IN (c.id, c.root_id) ORDER BY t.turn_id, t.id", chat)]

    def decide_all(self, chat: int, bob) -> bool:
        """Bob approves all requests of the conversation; return whether it is completed."""
        asked = "SELECT id, kind FROM approvals_approvalrequest WHERE scope = %s AND status = 'pending'"
        for request, kind in self.rows(asked, f"chat:{chat}"):
            # A recovery is closed by the true result of its tool.
            if kind != "recovery":
                bob.decide(str(request), verdict="approve")
        return self.turn(chat) == "completed"


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL that delays asynchronous writes to disk by ten seconds."""
    found = new_cluster()
    found.start(wal_writer_delay="10s")
    yield found
    found.remove()


@pytest.fixture
def desk(cluster, tmp_path):
    found = OddDesk(tmp_path, DATABASE_URL=copied_database(cluster.url().rpartition("/")[0]), SHORT_LEASE="6")
    try:
        yield found
    finally:
        found.end()


def test_a_postgresql_that_loses_its_last_commits_leaves_no_hole_in_a_stream(desk, cluster):
    desk.tend("web", "worker 3")
    desk.work()
    key = desk.key("requester")
    for number in range(ROUNDS):
        desk.release.unlink(missing_ok=True)
        with log_writer_held(cluster):
            stream = say(desk.ports["web"], key, f"lost-{number}", "recite", agent="reciter")
            until(lambda stream=stream: stream.text == f"{FIRST} {HELD} ", "the first words come")
            ((chat,),) = desk.rows("SELECT id FROM chats_chat WHERE public_id = %s", f"lost-{number}")
            # A reader gets the words before they are stored.
            until(lambda chat=chat: desk.text(chat) == f"{FIRST} {HELD} ", "the first words are stored")
            before = len(desk.stream(chat))
            cluster.stop()
        cluster.start(wal_writer_delay="10s")
        assert len(desk.stream(chat)) < before, "nothing was lost: this proves nothing"
        desk.release.write_text("go on")
        desk.wait_for_turn(chat, "completed")
        assert desk.text(chat) == WHOLE
        stream.wait()
        assert (stream.text, stream.cut) == (WHOLE, False)


def test_a_worker_whose_clock_is_ahead_takes_no_live_turn_and_asks_about_no_live_tool(desk):
    # A machine that is slow for a moment must not make the lease lapse that the clock seems to have passed.
    desk.env["SHORT_LEASE"] = "60"
    desk.tend("web", "worker 3")
    desk.work()
    alice, key = desk.at("web", "requester"), desk.key("requester")
    stream = say(desk.ports["web"], key, "alive", "recite", agent="reciter")
    until(lambda: stream.text == f"{FIRST} {HELD} ", "the first words come")
    slow = alice.start_chat("slowly alive-tool", agent="cashier")
    until(lambda: "alive-tool" in desk.lines(desk.charges), "the tool has begun")
    desk.tend("worker 2")
    seen = "SELECT count(*) FROM approvals_worker WHERE kind = 'worker' AND seen_at > now() - interval '30 seconds'"
    until(lambda: desk.rows(seen) == [(2,)], "the odd worker is there", STARTING)
    time.sleep(3)  # three rounds of its sweep
    assert desk.rows("SELECT attempt, state FROM chats_turn") == [(1, "running")] * 2
    desk.release.write_text("go on")
    desk.wait_for_turn(slow, "completed")
    stream.wait()
    assert (stream.text, desk.rows("SELECT count(*) FROM approvals_approvalrequest")) == (WHOLE, [(0,)])


@pytest.mark.parametrize(
    ("point", "agent", "text"),
    [
        ("end", "cashier", "hello"),
        ("step", "cashier", "charge frozen"),
        ("pause", "cashier", "charge frozen"),
        ("result", "cashier", "charge frozen"),
        ("settling", "manager", "have frozen charged"),
    ],
)
def test_a_worker_that_is_frozen_in_a_transaction_blocks_nobody(desk, point, agent, text):
    desk.tend("web", "worker 1")
    desk.work()
    alice, bob = desk.at("web", "requester"), desk.at("web", "approver")
    desk.freeze.write_text(point)
    chat = alice.start_chat(text, agent=agent)
    until(lambda: desk.decide_all(chat, bob) or not desk.freeze.exists(), "it freezes", STARTING)
    assert not desk.freeze.exists()
    desk.tend("worker 3")
    other = alice.start_chat("hello", agent="cashier")
    desk.wait_for_turn(other, "completed")
    if point != "result":
        until(lambda: desk.decide_all(chat, bob), "the turn is taken over")
    else:
        asked = "SELECT kind FROM approvals_approvalrequest WHERE status = 'pending'"
        until(lambda: desk.rows(asked) == [("recovery",)], "somebody is asked what became of it")
    desk.signal("worker 1", signal.SIGCONT)
    # Its tool's result is true all the same, and closes the question itself.
    until(lambda: desk.decide_all(chat, bob), "the turn is completed")
    assert desk.running["worker 1"].poll() is None
    assert (desk.results(chat), desk.lines(desk.charges)) == (desk.ran(chat), ["frozen"] * (text != "hello"))
    finals = "SELECT chat_pk, count(*) FROM chats_turncheckpoint WHERE kind = 'final' GROUP BY chat_pk"
    assert {count for _, count in desk.rows(finals)} == {1}
    assert desk.rows("SELECT count(*) FROM approvals_approvalrequest WHERE status = 'pending'") == [(0,)]
