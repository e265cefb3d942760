"""The Python client and a real server: one request for any number of calls, and the answer even if a process dies meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pausepoint import AsyncDesk, Desk, Outcome, Refused, StillWaiting, Unreachable, input_digest

from tests.support.machine import Remote
from tests.support.processes.server import Server, until
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

#: How long anything may take here that comes by itself.
SOON = 120


@pytest.fixture(scope="module")
def agent(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def decider(server):
    return Remote(server, "approver", ("decide", "read"))


def in_a_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    """Begin `work`; return a function that waits for its result."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(SOON)
        assert found, "it has not come to an end, or has failed"
        return found[0]

    return result


def test_an_async_desk_serves_one_event_loop_after_another(server, agent):
    desk = AsyncDesk(server.address, agent.key)

    async def list_three_times() -> int:
        return len(await asyncio.gather(*(desk.list(status="pending") for _ in range(3))))

    assert [asyncio.run(list_three_times()) for _ in range(3)] == [3, 3, 3]


def synchronously(address: str, key: str, verb: str, *given: Any, **more: Any) -> Any:
    with Desk(address, key) as desk:
        return getattr(desk, verb)(*given, **more)


def on_a_loop(address: str, key: str, verb: str, *given: Any, **more: Any) -> Any:
    async def story() -> Any:
        async with AsyncDesk(address, key) as desk:
            return await getattr(desk, verb)(*given, **more)

    return asyncio.run(story())


BOTH = pytest.mark.parametrize("carried", [synchronously, on_a_loop])


def the_one(reader: Remote, thread: str) -> dict[str, Any]:
    """The only request of a thread, once it is there."""
    (found,) = until(
        lambda: reader.send("GET", f"/requests?thread={thread}").body["items"], "the request is asked", SOON
    )
    return found


def decide(decider: Remote, thread: str, **decision: Any) -> None:
    asked = the_one(decider, thread)
    assert decider.send("POST", f"/requests/{asked['id']}/decision", decision).status == 200


@BOTH
def test_the_digest_of_an_input_with_a_hidden_value_and_a_file_is_checked_with_the_salt(
    server, agent, decider, carried, tmp_path
):
    file, thread = tmp_path / "öffnen.txt", uuid.uuid4().hex
    file.write_text("Open it at noon.\n")
    opened = {"tool_name": "open_door", "input": {"door": "north", "pin": "7316", "tries": 1.5}, "attachments": [file]}
    asked = carried(server.address, agent.key, "ask", "Open?", thread_id=thread, **opened)
    decide(decider, thread, verdict="edit", edited_input={"door": "süd", "pin": "7317", "tries": 1e21})
    outcome = carried(server.address, agent.key, "wait", asked["id"])
    assert (outcome.edited, outcome.verified, outcome.document["decision"]["digest_salt"] is None) == (
        True,
        True,
        False,
    )
    assert asked["input_digest"] == input_digest(opened["input"], asked["attachments"], asked["digest_salt"])
    masked = carried(server.address, decider.key, "wait", asked["id"])
    assert (masked.digest, masked.verified, masked.document["digest_salt"]) == (outcome.digest, False, None)
    carried(server.address, agent.key, "report", outcome, output="open")


@contextlib.contextmanager
def losing(server: Server, answers: int) -> Iterator[str]:
    """The address of a way to the server on which the first answers get lost, behind the server's work."""
    lost = iter(range(answers))

    class Way(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            onward = HTTPConnection("127.0.0.1", server.port, timeout=SOON)
            with contextlib.closing(onward):
                onward.request("POST", self.path, body, dict(self.headers))
                answer = onward.getresponse()
                content = answer.read()
            if next(lost, None) is None:
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Way) as door:
        threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{door.server_address[1]}"
        door.shutdown()


@BOTH
@pytest.mark.shows("rest", "edit")
@pytest.mark.shows("python-client", "approve", "edit", "person")
def test_an_approval_is_asked_waited_for_run_and_reported(server, agent, decider, carried):
    thread = str(uuid.uuid4())
    asked = {"tool_name": "refund", "tool_call_id": thread, "input": {"amount": 120}, "workflow_id": thread}
    waiting = in_a_thread(
        lambda: carried(server.address, agent.key, "await_human", "Refund?", thread_id=thread, **asked)
    )
    decide(decider, thread, verdict="edit", edited_input={"amount": 60}, comment="half")
    outcome: Outcome = waiting()
    assert (outcome.status, outcome.by) == ("approved", "API key remote of approver")
    assert (outcome.input, outcome.edited) == ({"amount": 60}, True)
    for _ in range(2):
        carried(server.address, agent.key, "report", outcome, output={"paid": 60})
    ended = [carried(server.address, agent.key, "end_workflow", thread)["state"] for _ in range(2)]
    assert (ended, server.value("SELECT count(*) FROM approvals_auditentry WHERE event = 'tool.result' AND request_id = ?",
                                outcome.request_id.replace("-", ""))) == (["completed"] * 2, 1)  # fmt: skip


@BOTH
@pytest.mark.shows("python-client", "expire")
def test_a_question_that_nobody_answers_gets_its_default(server, agent, carried):
    asked = {"kind": "question", "options": ["S", "M"], "timeout": 300, "default_response": "M"}
    outcome = carried(server.address, agent.key, "await_human", "Which size?", **asked)
    answer = {"fieldName": "", "selected": ["M"], "selectedIndex": 1}
    assert (outcome.timed_out, outcome.by, outcome.answer) == (True, None, answer)


@BOTH
@pytest.mark.shows("python-client", "cancel")
@pytest.mark.shows("rest", "cancel")
def test_who_gives_up_can_wait_again_or_withdraw(server, agent, carried):
    with pytest.raises(StillWaiting) as waiting:
        carried(server.address, agent.key, "await_human", "Pay?", give_up_after=0.5)
    outcomes = [carried(server.address, agent.key, "cancel", waiting.value.request_id, "not needed") for _ in range(2)]
    assert [(outcome.status, outcome.by, outcome.comment) for outcome in outcomes] == [
        ("cancelled", "API key remote of requester", "not needed")
    ] * 2
    assert carried(server.address, agent.key, "wait", waiting.value.request_id) == outcomes[0]


@BOTH
@pytest.mark.shows("python-client", "once")
def test_an_answer_lost_on_its_way_makes_no_second_request(server, agent, carried):
    thread = str(uuid.uuid4())
    with losing(server, 2) as address:
        asked = carried(address, agent.key, "ask", "Pay?", thread_id=thread)
    assert asked["id"] == the_one(agent, thread)["id"]


@BOTH
def test_what_the_desk_refuses_is_raised_at_once(server, agent, carried):
    with pytest.raises(Refused) as refused:
        carried(server.address, agent.key, "ask", "x" * 201)
    assert (refused.value.status, refused.value.code, list(refused.value.problem["errors"])) == (
        422,
        "invalid",
        ["title"],
    )
    with pytest.raises(Refused) as unknown:
        carried(server.address, "pp_no_key", "ask", "Pay?")
    assert unknown.value.code == "not_authenticated"


def test_where_nobody_listens_it_is_unreachable():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with Desk(address, "pp_x", patience=-60) as desk, pytest.raises(Unreachable, match="ConnectError"):
            desk.ask("Pay?")


@BOTH
@pytest.mark.shows("python-client", "crash", "reject")
@pytest.mark.shows("rest", "crash")
def test_a_server_that_dies_and_comes_back_still_gives_the_answer_once(tmp_path, carried):
    with Server(tmp_path) as server:
        agent, decider = Remote(server, "requester", ("ask", "read")), Remote(server, "approver", ("decide", "read"))
        waiting = in_a_thread(lambda: carried(server.address, agent.key, "await_human", "Pay?", thread_id="t"))
        the_one(agent, "t")
        server.kill()
        server.start()
        decide(decider, "t", verdict="reject", comment="no")
        assert (waiting().status, len(agent.send("GET", "/requests?thread=t").body["items"])) == ("rejected", 1)


@BOTH
def test_administrators_read_the_approver_scopes_and_a_revocation_has_a_reason(server, agent, carried):
    reader = Remote(server, "admin", ("audit",))
    assert carried(server.address, reader.key, "scopes") == []
    with pytest.raises(Refused) as missing:
        carried(server.address, agent.key, "scopes")
    assert missing.value.code == "scope_missing"
    granter = Remote(server, "approver", ("decide", "read", "grant"))
    request = agent.ask(tool_name=f"send{carried.__name__}")
    terms = {"covers": "input", "audience": "key", "uses": 1}
    granter.send("POST", f"/requests/{request['id']}/decision", {"verdict": "approve", "grant": terms})
    [grant] = carried(server.address, granter.key, "grants", tool=request["tool_name"])
    ended = carried(server.address, granter.key, "revoke", grant["id"], reason="Not needed")
    assert (ended["ended_why"], ended["unusable"]) == ("revoked", None)
    entries = reader.send("GET", "/audit?event=grant.revoked&tool=" + request["tool_name"]).body
    assert '"Not needed"' in str(entries)


@BOTH
@pytest.mark.shows("python-client", "advice")
def test_advice_of_another_key_is_on_the_request(server, agent, carried):
    reviewer = Remote(server, "auditor", ("read", "advise"))
    request = agent.ask(title="Pay?")
    advice = ("advise", request["id"], "look_closer", "The IBAN is new.")
    given = [carried(server.address, reviewer.key, *advice, raise_priority="high", more_votes=1) for _ in range(2)]
    assert (given[0]["raised_to"], given[0]["more_votes"], given[1]) == ("high", 1, given[0])
    shown = agent.send("GET", f"/requests/{request['id']}").body
    assert (shown["priority"], shown["advice"]) == ("high", [given[0]])


def test_many_wait_at_once_on_one_loop(server, agent, decider):
    """More than a pool of connections holds by itself."""

    async def story() -> list[Outcome]:
        async with AsyncDesk(server.address, agent.key) as desk:
            asked = await desk.ask("Pay?")
            waiting = [asyncio.create_task(desk.wait(asked["id"])) for _ in range(120)]
            await asyncio.sleep(0)
            await asyncio.to_thread(decider.send, "POST", f"/requests/{asked['id']}/decision", {"verdict": "approve"})
            return await asyncio.gather(*waiting)

    assert [outcome.status for outcome in asyncio.run(story())] == ["approved"] * 120
