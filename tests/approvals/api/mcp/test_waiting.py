"""Waiting for a decision inside a call, and across calls that a client repeats."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from approvals import actions
from approvals.api.mcp import calls
from approvals.asking.answers import Answer
from approvals.background import waiting_room
from approvals.db.pool import run
from approvals.models import ApprovalRequest
from approvals.models.keys import ApiKey
from approvals.states import Door, Kind, Verdict
from tests.approvals.api.mcp.agent import ACCEPT, ADDRESS, QUESTION, REFUND, WRITE, Agent, Response
from tests.support.desk.requests import make_request
from tests.support.machines import PATIENCE, answer_on, served
from tests.support.people import alice, bob
from tests.support.waiting import until_clients_wait, until_nobody_waits, waiting_clients

pytestmark = pytest.mark.django_db(transaction=True)

#: Seconds, for tests in which only a notification may end the waiting.
NEVER = 3600.0


def only() -> ApprovalRequest:
    return ApprovalRequest.objects.get()


def respond(by: User, answer: str = "blue") -> None:
    actions.decide(only().pk, Answer(Verdict.RESPOND, answer=answer), by=by, via=Door.DASHBOARD)


@pytest.fixture
def short(monkeypatch):
    """Calls that end at once, so that a client repeats them."""
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("tool", ["ask_human", "check_request"])
def test_waiting_ends_with_the_answer(monkeypatch, modern, tool):
    for module, name in ((waiting_room, "POLL"), (calls, "WAIT"), (calls, "KEEP_ALIVE")):
        monkeypatch.setattr(module, name, NEVER)
    owner, decider = alice(), bob()
    agent = Agent(owner, modern=modern)
    arguments = QUESTION if tool == "ask_human" else {"request_id": str(make_request(owner, Kind.QUESTION).pk)}

    async def story() -> Response:
        waiting = asyncio.ensure_future(agent.acall(tool, arguments))
        await until_clients_wait()
        await run(respond, decider)
        return await waiting

    response = served(story)
    assert (response.answer.status, response.answer.headers["content-type"]) == (200, "text/event-stream")
    assert response.answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert (response.outcome["answer"], len(response.messages)) == ("blue", 1)
    # An event without data came first, and a sign of life, and nothing else.
    sealed = response.answer.text.splitlines()[0]
    assert response.answer.text.startswith(
        f"{sealed}\nretry: 5000\ndata: \n\n: keep-alive\n\n{sealed}\nretry: 5000\nevent: message\ndata: "
    )


def test_progress_comes_to_who_gave_a_token(monkeypatch):
    monkeypatch.setattr(calls, "WAIT", NEVER)
    monkeypatch.setattr(calls, "PROGRESS", 0.01)
    agent, decider = Agent(alice()), bob()

    async def story() -> Response:
        line = await calling(agent, {"progressToken": "p-1"})
        start = await line.receive_output(PATIENCE)
        pieces = [(await line.receive_output(PATIENCE))["body"].decode() for _ in range(3)]
        await run(respond, decider)
        rest = await answer_on(line, start)
        return Response(replace(rest, text="".join(pieces) + rest.text))

    *progress, last = served(story).messages
    assert last["result"]["structuredContent"]["answer"] == "blue"
    assert {(message["method"], message["params"]["progressToken"]) for message in progress} == {
        ("notifications/progress", "p-1")
    }
    steps = [message["params"]["progress"] for message in progress]
    assert steps == sorted(set(steps))
    assert progress[0]["params"]["message"] == f"A person has been asked: {only().public_url}"


def test_a_progress_token_that_every_event_would_repeat_is_bounded(short):
    (message,) = Agent(alice()).call("ask_human", QUESTION, meta={"progressToken": "x" * 201}).messages
    assert message["result"]["structuredContent"]["status"] == "pending"


async def calling(agent: Agent, meta: dict[str, object]) -> ApplicationCommunicator:
    """A connection with a question whose answer is not read yet."""
    body, headers = agent.message("tools/call", {"name": "ask_human", "arguments": QUESTION, "_meta": meta})
    content = json.dumps(body).encode()
    line = agent.machine.connect("POST", ADDRESS, content, headers)
    await line.send_input({"type": "http.request", "body": content})
    return line


def test_a_hundred_waiting_calls_hold_no_thread_and_one_listener(monkeypatch):
    monkeypatch.setattr(calls, "WAIT", NEVER)
    agent, decider = Agent(alice()), bob()

    async def story() -> tuple[int, int]:
        waiting = [asyncio.ensure_future(agent.acall("ask_human", QUESTION)) for _ in range(100)]
        await until_clients_wait(100)
        threads = sum(thread.name.startswith(("pausepoint-http", "pausepoint-db")) for thread in threading.enumerate())
        await run(respond, decider)
        answers = {one.outcome["answer"] for one in await asyncio.gather(*waiting)}
        assert answers == {"blue"}
        return threads, waiting_clients()

    threads, left = served(story)
    assert (threads <= 20, left) == (True, 0)


def test_a_client_that_goes_away_leaves_the_request_and_no_task():
    agent = Agent(alice())

    async def story() -> None:
        line = await calling(agent, {})
        await until_clients_wait()
        await line.send_input({"type": "http.disconnect"})
        await line.wait(60)
        await until_nobody_waits()

    served(story)
    assert only().pending


def test_a_stream_that_broke_is_continued_by_the_same_key_only():
    owner, decider = alice(), bob()
    agent, other = Agent(owner, modern=False), Agent(owner, modern=False)

    async def story() -> str:
        line = await calling(agent, {"progressToken": 5})
        await line.receive_output(PATIENCE)
        piece = (await line.receive_output(PATIENCE))["body"].decode()
        await line.send_input({"type": "http.disconnect"})
        await line.wait(PATIENCE)
        return piece.partition("id: ")[2].partition("\n")[0]

    headers = {**ACCEPT, "last-event-id": served(story)}
    respond(decider)
    response = Response(agent.machine.get(ADDRESS, headers=headers))
    assert (response.messages[-1]["id"], response.outcome["answer"]) == (7, "blue")
    assert response.answer.headers["content-type"] == "text/event-stream"
    refused = [
        other.machine.get(ADDRESS, headers=headers),
        agent.machine.get(ADDRESS, headers={**ACCEPT, "last-event-id": "1"}),
    ]
    assert [Response(answer).error[:2] for answer in refused] == [(400, -32600)] * 2
    assert agent.machine.get(ADDRESS, headers=ACCEPT).status == 405


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
def test_a_key_that_ends_while_waiting_gets_no_answer(monkeypatch, column):
    monkeypatch.setattr(calls, "WAIT", NEVER)
    agent, decider = Agent(alice()), bob()

    async def story() -> Response:
        waiting = asyncio.ensure_future(agent.acall("ask_human", QUESTION))
        await until_clients_wait()
        await run(lambda: ApiKey.objects.update(**{column: timezone.now()}))
        await run(respond, decider)
        return await waiting

    assert served(story).refusal.startswith("Authentication is required.")


@pytest.mark.usefixtures("short")
def test_a_client_that_opens_links_is_asked_to_repeat_the_call():
    agent, decider = Agent(alice(), links=True), bob()
    first = agent.call("ask_human", QUESTION).result
    assert (first["resultType"], first["inputRequests"]) == (
        "input_required",
        {
            "desk": {
                "method": "elicitation/create",
                "params": {
                    "mode": "url",
                    "message": "Answer this request: Which colour?",
                    "url": only().public_url,
                },
            }
        },
    )
    opened = {"inputResponses": {"desk": {"action": "accept"}}, "requestState": first["requestState"]}
    second = agent.call("ask_human", QUESTION, **opened).result
    # The link comes once; from then on the client repeats the call by itself.
    assert set(second) == {"resultType", "requestState", "_meta"}
    respond(decider)
    assert agent.call("ask_human", QUESTION, requestState=second["requestState"]).outcome["answer"] == "blue"
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.usefixtures("short")
def test_repeating_ends_before_clients_give_up():
    agent, state, rounds = Agent(alice(), links=True), {}, 0
    while "requestState" in (result := agent.call("request_approval", REFUND, **state).result):
        state, rounds = {"requestState": result["requestState"]}, rounds + 1
    assert rounds == 9
    assert result["structuredContent"]["status"] == "pending"
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.usefixtures("short")
def test_who_declines_the_link_gets_the_call_back_and_who_closes_it_does_not():
    agent = Agent(alice(), links=True)
    state = {"requestState": agent.call("ask_human", QUESTION).result["requestState"]}
    found = {}
    for action in ("cancel", "decline"):
        result = agent.call("ask_human", QUESTION, inputResponses={"desk": {"action": action}}, **state).result
        found[action] = (result["resultType"], "structuredContent" in result)
    assert found == {"cancel": ("input_required", False), "decline": ("complete", True)}
    assert only().pending


@pytest.mark.usefixtures("short")
def test_only_clients_of_the_newer_era_with_links_repeat_calls():
    user = alice()
    agents = [Agent(user, modern=False), Agent(user)]
    assert {agent.call("ask_human", QUESTION).outcome["status"] for agent in agents} == {"pending"}
    assert Agent(user, links=True).call("permission", WRITE).value["behavior"] == "deny"


@pytest.mark.usefixtures("short")
def test_a_state_works_only_for_the_same_key_tool_and_arguments(settings):
    user = alice()
    agent, other = Agent(user, links=True), Agent(user, links=True)
    state = agent.call("ask_human", QUESTION).result["requestState"]
    wrong = [
        (other, "ask_human", QUESTION, state),
        (agent, "ask_human", {"question": "Which size?"}, state),
        (agent, "request_approval", REFUND, state),
        (agent, "ask_human", QUESTION, f"{state[:-2]}AA"),
        (agent, "ask_human", QUESTION, "é"),
        (agent, "ask_human", QUESTION, "x" * 100_000),
        (agent, "ask_human", QUESTION, 7),
    ]
    found = [one.call(tool, given, requestState=text).error[:2] for one, tool, given, text in wrong]
    assert found == [(400, -32602)] * len(wrong)
    # The key of the installation has changed, and the old one is a fallback.
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key of the installation", [settings.SECRET_KEY]
    assert "requestState" in agent.call("ask_human", QUESTION, requestState=state).result
    settings.SECRET_KEY_FALLBACKS = []
    assert agent.call("ask_human", QUESTION, requestState=state).error[:2] == (400, -32602)
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.usefixtures("short")
def test_the_same_call_at_the_same_moment_is_one_request():
    user = alice()
    agent = Agent(user)

    async def story() -> list[Response]:
        return await asyncio.gather(*(agent.acall("request_approval", REFUND) for _ in range(8)))

    assert {one.outcome["request_id"] for one in served(story)} == {str(only().pk)}
    connections.close_all()
