"""`@desk.approve("refund")` and a real server: a function runs once, with the approved input."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pausepoint import AsyncDesk, Desk, Refused
from pausepoint.approve import NotApproved
from pausepoint.gate import HasFailed

from tests.contract.python_client.test_against_a_server import SOON, decide, in_a_thread, the_one
from tests.support.machine import Remote
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture(scope="module")
def agent(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def decider(server):
    return Remote(server, "approver", ("decide", "read"))


class Refunds:
    """A function that people are asked about, as a program has it that was just started."""

    def __init__(self, address: str, api_key: str, **named: Any) -> None:
        self.ran: list[Any] = []
        self.during: Callable[[], Any] = lambda: None

        def refund(order: str, amount: int = 250, *, urgent: bool = False) -> str:
            self.ran.append([order, amount])
            self.during()
            if order == "locked":
                raise RuntimeError("The order is locked")
            return f"refunded {amount}"

        async def refund_later(order: str, amount: int = 250, *, urgent: bool = False) -> str:
            return refund(order, amount, urgent=urgent)

        self.refund = Desk(address, api_key).approve("refund", **named)(refund)
        self.decorate_later = lambda: AsyncDesk(address, api_key).approve("refund", **named)(refund_later)

    def call(self, *values: Any) -> Any:
        return self.refund(*values)

    def call_on_a_loop(self, *values: Any) -> Any:
        async def call() -> Any:
            return await self.decorate_later()(*values)

        return asyncio.run(call())


BOTH = pytest.mark.parametrize("how", ["call", "call_on_a_loop"])


@BOTH
def test_a_function_runs_with_what_was_approved_once_and_returns_it_again(server, agent, decider, how):
    thread = str(uuid.uuid4())

    def started() -> Refunds:
        return Refunds(server.address, agent.key, thread_id=thread, priority="high")

    first = started()
    result = in_a_thread(lambda: getattr(first, how)("4711"))
    request = agent.send("GET", f"/requests/{the_one(decider, thread)['id']}").body
    assert (request["tool_name"], request["priority"]) == ("refund", "high")
    assert request["input"] == {"order": "4711", "amount": 250, "urgent": False}
    bad = {"verdict": "edit", "edited_input": {"order": "4711", "amount": "lots", "urgent": False}}
    refused = decider.send("POST", f"/requests/{request['id']}/decision", bad)
    assert (refused.status, list(refused.body["errors"])) == (422, ["edited_input.amount"])
    decide(decider, thread, verdict="edit", edited_input={"order": "4711", "amount": 99, "urgent": True})
    assert (result(), first.ran) == ("refunded 99", [["4711", 99]])
    again = started()
    assert (getattr(again, how)("4711"), again.ran) == ("refunded 99", [])
    assert agent.send("GET", f"/requests/{request['id']}").body["result"]["output"] == "refunded 99"


@BOTH
def test_a_key_names_a_call_and_one_that_has_failed_does_not_run_again(server, agent, decider, how):
    thread = str(uuid.uuid4())

    def started() -> Refunds:
        return Refunds(
            server.address, agent.key, thread_id=thread, key=lambda order, amount, urgent: f"{thread}-{order}"
        )

    def failing(refunds: Refunds) -> Any:
        try:
            return getattr(refunds, how)("locked")
        except (RuntimeError, HasFailed) as error:
            return error

    first, again = started(), started()
    error = in_a_thread(lambda: failing(first))
    decide(decider, thread, verdict="approve")
    assert (type(error()), first.ran) == (RuntimeError, [["locked", 250]])
    known = failing(again)
    assert (type(known), again.ran) == (HasFailed, [])
    assert str(known) == "This call has run already, and failed: RuntimeError: The order is locked"


@BOTH
def test_of_two_calls_with_one_key_at_the_same_time_one_runs_and_both_get_its_result(server, agent, decider, how):
    thread, release = str(uuid.uuid4()), threading.Event()
    first, second = (_called_in(server, agent, thread, release) for _ in range(2))
    results = [in_a_thread(lambda each=each: getattr(each, how)("4711")) for each in (first, second)]
    decide(decider, thread, verdict="approve")
    until(lambda: first.ran + second.ran, "one of them runs", SOON)
    release.set()
    assert [result() for result in results] == ["refunded 250"] * 2
    assert first.ran + second.ran == [["4711", 250]]


def test_a_cancelled_call_is_reported_as_failed_and_does_not_run_again(server, agent, decider):
    thread, entered = str(uuid.uuid4()), threading.Event()

    async def refund(order: str) -> str:
        entered.set()
        await asyncio.Event().wait()
        return order

    async def cancelled() -> Any:
        async with AsyncDesk(server.address, agent.key) as desk:
            gated = desk.approve("refund", key=thread, thread_id=thread)(refund)
            task = asyncio.create_task(gated("4711"))
            await asyncio.to_thread(entered.wait, SOON)
            task.cancel()
            ended = await asyncio.gather(task, return_exceptions=True)
            return [type(each) for each in ended], await asyncio.gather(gated("4711"), return_exceptions=True)

    found = in_a_thread(lambda: asyncio.run(cancelled()))
    decide(decider, thread, verdict="approve")
    first, (again,) = found()
    assert (first, str(again)) == (
        [asyncio.CancelledError],
        "This call has run already, and failed: "
        "CancelledError: It was stopped before it returned, so it may have run in part.",
    )


@BOTH
@pytest.mark.parametrize(("verdict", "ran", "told"), [
    ("approve", [["4711", 250]], "refunded 250"),
    ("reject", [], "An earlier run of this call ended before it reported a result, so it may have run already. "
     "A person declined this call: It has run. Do not repeat it."),
])  # fmt: skip
def test_after_a_process_died_while_a_call_ran_a_person_is_asked_again(server, agent, decider, how, verdict, ran, told):
    thread, release = str(uuid.uuid4()), threading.Event()
    died = _called_in(server, agent, thread, release)
    result = in_a_thread(lambda: getattr(died, how)("4711"))
    request = the_one(decider, thread)
    decide(decider, thread, verdict="approve")
    until(lambda: died.ran, "the call runs", SOON)
    server.run(
        "from approvals.models import Resumption\n"
        f"Resumption.objects.filter(pk={request['id']!r}).update(leased_until='2026-01-01T00:00Z')"
    )
    again = Refunds(server.address, agent.key, key=thread, thread_id=thread)
    second = in_a_thread(lambda: _result_or_words(again, how))
    (waiting,) = _waiting(decider, thread)
    assert (waiting["title"], waiting["tool_name"]) == ("Run refund again?", "refund")
    decision = {"verdict": verdict, "comment": "" if verdict == "approve" else "It has run"}
    assert decider.send("POST", f"/requests/{waiting['id']}/decision", decision).status == 200
    assert (second(), again.ran) == (told, ran)
    release.set()
    assert result() == "refunded 250"


def test_a_generator_is_refused_in_words(server, agent, decider):
    thread = str(uuid.uuid4())

    def pages() -> Any:
        yield 1

    def hidden() -> Any:
        return pages()

    desk = Desk(server.address, agent.key)
    with pytest.raises(TypeError, match="is a generator, which runs after it has returned"):
        desk.approve("read")(pages)

    def read() -> str:
        with pytest.raises(TypeError, match="may not return a generator, which runs later") as error:
            desk.approve("read", key=thread, thread_id=thread)(hidden)()
        return str(error.value)

    refused = in_a_thread(read)
    request = the_one(decider, thread)
    decide(decider, thread, verdict="approve")
    words = refused()
    assert agent.send("GET", f"/requests/{request['id']}").body["result"]["error"] == f"TypeError: {words}"


@BOTH
def test_a_function_does_not_run_without_an_approval(server, agent, decider, how):
    thread = str(uuid.uuid4())
    refunds = Refunds(server.address, agent.key, thread_id=thread)

    def refused() -> Any:
        with pytest.raises(NotApproved) as error:
            getattr(refunds, how)("4711")
        return error.value

    error = in_a_thread(refused)
    decide(decider, thread, verdict="reject", comment="Not on a Friday")
    assert str(error()) == "A person declined this call: Not on a Friday. Do not repeat it."
    assert (error().outcome.status, refunds.ran) == ("rejected", [])


def test_equal_calls_of_one_run_are_asked_about_one_by_one(server, agent, decider):
    thread = str(uuid.uuid4())
    refunds = Refunds(server.address, agent.key, thread_id=thread)
    results = []
    for _ in range(2):
        result = in_a_thread(lambda: refunds.call("4711"))
        (waiting,) = _waiting(decider, thread)
        assert decider.send("POST", f"/requests/{waiting['id']}/decision", {"verdict": "approve"}).status == 200
        results.append(result())
    assert (results, refunds.ran) == (["refunded 250"] * 2, [["4711", 250]] * 2)


def test_a_request_is_the_same_after_only_the_schema_of_the_function_has_changed(server, agent, decider):
    thread = str(uuid.uuid4())
    desk = Desk(server.address, agent.key)

    def integer(amount: int) -> int:
        return amount

    def number(amount: float) -> float:
        return amount

    result = in_a_thread(lambda: desk.approve("refund", key=thread, thread_id=thread)(integer)(250))
    decide(decider, thread, verdict="approve")
    assert result() == 250
    assert desk.approve("refund", key=thread, thread_id=thread)(number)(250) == 250
    with pytest.raises(Refused, match="409 conflict"):
        desk.approve("refund", key=thread, thread_id=thread)(number)(251)


def test_a_schema_that_the_server_does_not_take_is_left_out(server, agent, decider):
    thread = str(uuid.uuid4())

    def paint(colour: str) -> str:
        return colour

    paint.__annotations__["colour"] = Literal["x" * 70_000, "red"]
    result = in_a_thread(lambda: Desk(server.address, agent.key).approve("paint", thread_id=thread)(paint)("red"))
    request = the_one(decider, thread)
    assert agent.send("GET", f"/requests/{request['id']}").body["response_schema"] is None
    decide(decider, thread, verdict="approve")
    assert result() == "red"


def _called_in(server: Any, agent: Remote, thread: str, release: threading.Event) -> Refunds:
    """A function that runs until it is released."""
    found = Refunds(server.address, agent.key, key=thread, thread_id=thread)
    found.during = lambda: release.wait(SOON)
    return found


def _result_or_words(refunds: Refunds, how: str) -> str:
    try:
        return str(getattr(refunds, how)("4711"))
    except NotApproved as error:
        return str(error)


def _waiting(reader: Remote, thread: str) -> list[dict[str, Any]]:
    path = f"/requests?thread={thread}&status=pending"
    found: list[dict[str, Any]] = until(lambda: reader.send("GET", path).body["items"], "the request waits", SOON)
    return found
