"""Outages of PostgreSQL and Redis, frozen workers and stopped processes: everything catches up by itself."""

from __future__ import annotations

import signal
import time

import pytest

from tests.proofs.team.desk import Desk, copied_database
from tests.proofs.team.reciter import FIRST_PIECE, WHOLE
from tests.proofs.team.windows import Call, Window, say
from tests.support.processes.deployed import new_cluster
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("real_processes")]

ALL = ("web", "web 2", "worker 1", "worker 2")
LIVE, DELAYED = 'data-state="on"', 'data-state="slow"'


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL that may die."""
    found = new_cluster()
    found.start()
    yield found
    found.remove()


@pytest.fixture(scope="module")
def desk(cluster, redis, tmp_path_factory):
    database = copied_database(cluster.url().rpartition("/")[0])
    given = {"REDIS_URL": redis.url, "SHORT_LEASE": "30", "PULSE_PATIENCE": "20"}
    found = Desk(tmp_path_factory.mktemp("faults"), DATABASE_URL=database, **given)
    try:
        found.tend(*ALL)
        found.work()
        yield found
    finally:
        found.end()


@pytest.fixture(autouse=True)
def mended(desk, cluster, redis):
    """Repair the damage of one test before the next."""
    desk.release.unlink(missing_ok=True)
    yield
    desk.release.write_text("go on")
    for server in (cluster, redis):
        if server.process.poll() is not None:
            server.start()
    for process in desk.running.values():
        process.send_signal(signal.SIGCONT)
    desk.tend(*ALL)


def ask(desk: Desk, alice, ref: str) -> tuple[int, str]:
    """A charge that waits for a person: the chat, and the request."""
    chat = alice.start_chat(f"charge {ref}", agent="cashier")
    desk.wait_for_turn(chat, "suspended")
    ((request,),) = desk.rows("SELECT id FROM approvals_approvalrequest WHERE scope = %s", f"chat:{chat}")
    return chat, str(request)


def answer_to(desk: Desk, key: str, request: str) -> str:
    """Return the outcome of a request, for a client that waits for it."""
    poll = Call(desk.ports["web"], key, "GET", f"/api/v1/requests/{request}?wait=60")
    poll.wait()
    return str(poll.json["status"]) if poll.status == 200 else ""


def chat_of(desk: Desk, public_id: str) -> int:
    return int(desk.rows("SELECT id FROM chats_chat WHERE public_id = %s", public_id)[0][0])


def charged_once(desk: Desk, chat: int, ref: str) -> None:
    assert desk.lines(desk.charges).count(ref) == 1
    results = "SELECT count(*) FROM approvals_auditentry WHERE scope = %s AND event = 'tool.result'"
    assert desk.rows(results, f"chat:{chat}") == [(1,)]


def said_once(desk: Desk, port: int, key: str, public_id: str) -> None:
    """Check that the client's next read is whole."""
    read = Call(port, key, "GET", f"/api/chat/{public_id}")
    read.wait()
    assert (read.status, read.json["status"]) == (200, "idle")
    texts = [part["text"] for message in read.json["messages"] for part in message["parts"] if part["type"] == "text"]
    assert texts == ["recite", WHOLE]


def held_stream(desk: Desk, web: str, key: str, public_id: str) -> Call:
    """A client that has read the first half of a sentence."""
    call = say(desk.ports[web], key, public_id, "recite", agent="reciter")
    until(lambda: call.text == FIRST_PIECE, "the first words come")
    return call


def test_a_postgresql_that_dies_and_comes_back_costs_nothing_but_the_time(desk, cluster):
    alice, bob, carol = desk.at("web", "requester"), desk.at("web 2", "approver"), desk.at("web", "auditor")
    key = desk.key("requester")
    suspended, request = ask(desk, alice, "outage")
    dashboard = Window(carol, f"/ws/desk/?since={int(time.time())}", port=desk.ports["web"])
    poll = Call(desk.ports["web"], key, "GET", f"/api/v1/requests/{request}?wait=60")
    stream = held_stream(desk, "web", key, "outage")
    slow = alice.start_chat("slowly outage-tool", agent="cashier")
    until(lambda: "outage-tool" in desk.lines(desk.charges), "the tool has begun")

    cluster.stop()
    page = alice.get("/", Accept="text/html")
    assert (page.status, page.headers["retry-after"], "No recorded data is lost" in page.text) == (
        503,
        "5",
        True,
    )
    assert "Traceback" not in page.text
    assert "OperationalError" not in page.text
    fragment = bob.post(f"/requests/{request}/decide/", {"HX-Request": "true"}, verdict="approve")
    assert (fragment.status, fragment.headers["hx-reswap"], "<html" in fragment.text) == (503, "beforebegin", False)
    refused = Call(desk.ports["web 2"], key, "GET", f"/api/v1/requests/{request}")
    refused.wait()
    assert (refused.status, refused.json["code"]) == (503, "unavailable")
    until(lambda: desk.ready()[1][:1] == ["database: no answer"], "the probe says so")
    # The model says the rest, and the tool ends, while there is nowhere to write it down.
    desk.release.write_text("go on")
    cluster.start()

    until(lambda: bob.decide(request, verdict="approve").status == 302, "Bob's click is taken")
    dashboard.until("Approved</b>")
    # Waiting outlasts the outage; where the outage has outlasted the wait, the client asks once more, as all do.
    poll.wait()
    assert (poll.cut, poll.status) in {(False, 200), (False, 503)}
    until(lambda: answer_to(desk, key, request) == "approved", "the client is told")
    stream.wait()
    assert (stream.cut, stream.text.startswith(FIRST_PIECE)) == (False, True)
    for chat in (suspended, slow, chat_of(desk, "outage")):
        desk.wait_for_turn(chat, "completed")
    said_once(desk, desk.ports["web 2"], key, "outage")
    charged_once(desk, suspended, "outage")
    charged_once(desk, slow, "outage-tool")
    # No person had to be asked about the tool's outcome: its result was kept until it could be recorded.
    assert desk.rows("SELECT count(*) FROM approvals_approvalrequest WHERE scope = %s", f"chat:{slow}") == [(0,)]
    after, waiting = ask(desk, alice, "after-the-outage")
    assert bob.decide(waiting, verdict="approve").status == 302
    desk.wait_for_turn(after, "completed")
    assert dashboard.closed is None
    dashboard.close()
    assert {process.poll() for process in desk.running.values()} == {None}


def test_a_redis_that_dies_and_comes_back_delays_pages_and_says_so(desk, redis):
    alice, bob, carol = desk.at("web", "requester"), desk.at("web 2", "approver"), desk.at("web", "auditor")
    (_, first), (_, second) = ask(desk, alice, "no-redis"), ask(desk, alice, "redis-again")
    early = Window(carol, f"/ws/desk/?since={int(time.time())}", port=desk.ports["web"])

    redis.stop()
    slow = early.until(DELAYED)
    late = Window(carol, f"/ws/desk/?since={int(time.time())}", port=desk.ports["web"])
    late.until(DELAYED)
    assert carol.get("/").status == 200
    assert bob.decide(first, verdict="approve").status == 302
    for window in (early, late):
        window.until(f'id="request-{first}"')
        window.until("Approved</b>")
    assert early.find(LIVE, after=slow) == 0

    redis.start()
    again = {window: window.until(LIVE, after=slow if window is early else 0) for window in (early, late)}
    assert bob.decide(second, verdict="approve").status == 302
    for window, since in again.items():
        # While it says that it is live nothing is read anew by the clock: this was heard.
        window.until(f'id="request-{second}"', after=since)
        assert window.find(DELAYED, after=since) == 0
        window.close()


def frozen(desk: Desk, name: str) -> None:
    """Freeze a process in the middle of its work, but not of a transaction, whose locks would block all others."""
    inside = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    inside += " AND state NOT IN ('idle') AND backend_type = 'client backend'"

    def stopped() -> bool:
        desk.signal(name, signal.SIGSTOP)
        if desk.rows(inside) == [(0,)]:
            return True
        desk.signal(name, signal.SIGCONT)
        return False

    until(stopped, f"{name} is between two transactions")


def test_a_worker_that_freezes_past_its_lease_writes_nothing_when_it_thaws(desk):
    alice, key = desk.at("web", "requester"), desk.key("requester")
    desk.signal("worker 2", signal.SIGTERM)
    assert desk.wait_for("worker 2") == 0
    stream = held_stream(desk, "web 2", key, "frozen")
    slow = alice.start_chat("slowly frozen-tool", agent="cashier")
    until(lambda: "frozen-tool" in desk.lines(desk.charges), "the tool has begun")
    told = chat_of(desk, "frozen")

    frozen(desk, "worker 1")
    desk.tend("worker 2")
    desk.wait_for_turn(slow, "suspended")
    kinds = "SELECT kind, status FROM approvals_approvalrequest WHERE scope = %s"
    assert desk.rows(kinds, f"chat:{slow}") == [("recovery", "pending")]
    desk.release.write_text("go on")
    desk.wait_for_turn(told, "completed")
    written = "SELECT e.seq, e.attempt, e.chunk::text FROM chats_turnevent e JOIN chats_turn t ON t.id = e.turn_id WHERE t.chat_id = %s ORDER BY seq"  # noqa: E501
    before = desk.rows(written, told)
    log = desk.logs / "worker 1.log"
    length = log.stat().st_size
    desk.signal("worker 1", signal.SIGCONT)

    # Its tool's true result is kept, though the turn is another's by now, and closes the question about its outcome.
    desk.wait_for_turn(slow, "completed")
    assert desk.rows(kinds, f"chat:{slow}") == [("recovery", "answered")]
    charged_once(desk, slow, "frozen-tool")
    until(
        lambda: "another runner" in log.read_text()[length:],
        "it steps back",
    )
    assert desk.rows(written, told) == before
    assert len({attempt for _, attempt, _ in before}) == 1
    said_once(desk, desk.ports["web"], key, "frozen")
    stream.wait()
    assert not stream.cut


def test_a_worker_that_is_told_to_stop_hands_its_turn_over(desk):
    key = desk.key("requester")
    stream = held_stream(desk, "web", key, "handed-over")
    told = chat_of(desk, "handed-over")
    owner = "SELECT split_part(lease_owner, ':', 3) FROM chats_turn WHERE chat_id = %s AND state = 'running'"

    def runner() -> str:
        pids = {str(process.pid): name for name, process in desk.running.items()}
        return next((pids[pid] for (pid,) in desk.rows(owner, told) if pid in pids), "")

    name = until(runner, "a worker runs the turn")
    desk.signal(name, signal.SIGTERM)
    assert desk.wait_for(name) == 0
    other = until(runner, "another has taken the turn over")
    assert other != name
    desk.release.write_text("go on")
    stream.wait()
    assert not stream.cut
    desk.wait_for_turn(told, "completed")
    said_once(desk, desk.ports["web"], key, "handed-over")
    desk.tend(name)


def test_a_web_process_that_is_told_to_stop_leaves_the_turn_running_and_the_next_one_shows_it(desk):
    carol, key = desk.at("web 2", "auditor"), desk.key("requester")
    window = Window(carol, "/ws/desk/", port=desk.ports["web 2"])
    stream = held_stream(desk, "web 2", key, "web-stopped")
    told = chat_of(desk, "web-stopped")
    desk.signal("web 2", signal.SIGTERM)
    assert desk.wait_for("web 2") == 0
    stream.wait()
    until(lambda: window.closed is not None, "the page's line is closed")
    assert desk.turn(told) == "running"
    desk.tend("web 2")
    again = Call(desk.ports["web 2"], key, "GET", "/api/chat/web-stopped/stream")
    until(lambda: again.text == FIRST_PIECE, "a client that comes back is told from the beginning")
    desk.release.write_text("go on")
    again.wait()
    assert (again.text, again.cut) == (WHOLE, False)
    said_once(desk, desk.ports["web 2"], key, "web-stopped")


def test_without_redis_pages_show_news_and_streams_follow_all_the_same(cluster, tmp_path):
    database = copied_database(cluster.url().rpartition("/")[0])
    desk = Desk(tmp_path, DATABASE_URL=database, SHORT_LEASE="")
    try:
        desk.tend("web", "web 2", "worker 1")
        desk.work()
        alice, bob, carol = desk.at("web", "requester"), desk.at("web 2", "approver"), desk.at("web", "auditor")
        window = Window(carol, f"/ws/desk/?since={int(time.time())}", port=desk.ports["web"])
        window.until(DELAYED)
        chat, request = ask(desk, alice, "alone")
        window.until(f'id="request-{request}"')
        assert bob.decide(request, verdict="approve").status == 302
        window.until("Approved</b>")
        desk.wait_for_turn(chat, "completed")
        window.close()
        key = desk.key("requester")
        stream = held_stream(desk, "web 2", key, "no-bell")
        assert desk.turn(chat_of(desk, "no-bell")) == "running"
        desk.release.write_text("go on")
        stream.wait()
        assert (stream.text, stream.cut) == (WHOLE, False)
    finally:
        desk.end()
