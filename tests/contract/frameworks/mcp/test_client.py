"""The official Python client of MCP, in both eras, against a real server: every tool, every decision, every crash."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.frameworks import environments
from tests.contract.frameworks.mcp.program import People, Program
from tests.support.machine import Remote
from tests.support.processes.server import Server
from tests.support.services import missing

pytestmark = pytest.mark.server

#: Calls that are repeated after a second, where a test would wait for most of a minute otherwise.
QUICK = "from approvals.api.mcp import calls; calls.WAIT = calls.ROUND = calls.PROGRESS = 1.0"


@pytest.fixture(autouse=True, scope="module")
def environment() -> None:
    if not environments.ready("mcp"):
        missing("no environment for mcp", "make contract NAME=mcp")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("mcp")) as running:
        yield running


@pytest.fixture(scope="module")
def people(desk: Server) -> People:
    return People(desk)


@pytest.fixture(scope="module", params=["auto", "legacy"])
def agent(request: pytest.FixtureRequest, desk: Server, people: People) -> Iterator[Program]:
    program = Program(request.param, people.asker.key, desk.address)
    yield program
    program.close()


def unique(text: str) -> str:
    return f"{text} {uuid.uuid4().hex[:8]}"


def test_both_eras_are_spoken_and_offer_the_same_tools(agent):
    assert agent.about["version"] in {"2026-07-28", "2025-11-25"}
    assert agent.about["tools"] == ["ask_human", "request_approval", "check_request", "report_result", "permission"]


@pytest.mark.shows("mcp", "answer", "person")
def test_a_question_waits_with_progress_and_is_answered(agent, people):
    question = unique("Which colour?")
    name = agent.start("ask_human", {"question": question, "options": ["red", "blue"]})
    request = people.waiting(question)
    assert agent.hear("progress")["words"] == f"A person has been asked: {request['url']}"
    people.decide(request, "respond", answer="blue")
    found = agent.result(name)
    told = {"request_id": request["id"], "status": "answered", "url": request["url"], "message": "Answered."}
    by = {"by": found["structured"]["by"]}
    answer = {"answer": {"fieldName": "", "selected": ["blue"], "selectedIndex": 1}}
    assert found["structured"] == json.loads(found["text"]) == {**told, **answer, **by}
    assert by["by"] == "API key remote of approver"


@pytest.mark.shows("mcp", "approve", "edit", "reject")
def test_an_approval_returns_what_may_run_or_why_nothing_may(agent, people):
    found = {}
    verdicts: dict[str, dict[str, Any]] = {
        "approve": {},
        "edit": {"edited_input": {"amount": 99}},
        "reject": {"comment": "Too much"},
    }
    for verdict, said in verdicts.items():
        action = f"refund-{uuid.uuid4().hex[:8]}"
        name = agent.start("request_approval", {"action": action, "input": {"amount": 250}})
        people.decide(people.waiting(action), verdict, **said)
        result = agent.outcome(name)
        found[verdict] = (result["status"], result.get("input"), result.get("comment"))
    assert found == {
        "approve": ("approved", {"amount": 250}, None),
        "edit": ("approved", {"amount": 99}, None),
        "reject": ("rejected", None, "Too much"),
    }


@pytest.mark.shows("mcp", "expire", "cancel")
def test_a_request_that_expires_or_is_cancelled_must_not_run(agent, people):
    found = []
    for end in (people.let_expire, lambda one: people.asker.send("POST", f"/requests/{one['id']}/cancel", {})):
        action = f"drop-{uuid.uuid4().hex[:8]}"
        name = agent.start("request_approval", {"action": action, "input": {}, "timeout_seconds": 3600})
        end(people.waiting(action))
        result = agent.outcome(name)
        found.append((result["status"], result["message"]))
    assert found == [
        ("expired", "No one decided before the deadline. Do not run it."),
        ("cancelled", "The request was cancelled. Do not run it."),
    ]


@pytest.mark.shows("mcp", "once")
def test_a_call_that_is_repeated_is_one_request_and_its_result_is_reported_once(agent, people):
    action, meta = f"pay-{uuid.uuid4().hex[:8]}", {"claudecode/toolUseId": uuid.uuid4().hex}
    names = [agent.start("request_approval", {"action": action, "input": {}}, meta=meta) for _ in range(3)]
    request = people.waiting(action)
    people.decide(request, "approve")
    assert [agent.outcome(name)["status"] for name in names] == ["approved"] * 3
    again = agent.call("request_approval", {"action": action, "input": {}}, meta=meta)["structured"]
    assert again["request_id"] == request["id"]
    report = {"request_id": request["id"], "output": {"paid": True}, "input": {}}
    assert [agent.call("report_result", report)["structured"] for _ in range(2)] == [{}, {}]
    lines = people.auditor.send("GET", f"/audit?event=tool.result&request={request['id']}").body.splitlines()
    (entry,) = map(json.loads, lines)
    assert (entry["data"]["output"], entry["via"]) == ({"paid": True}, "mcp")
    other = agent.call("report_result", report | {"output": 2})
    assert (other["error"], other["text"]) == (True, "A different result was already reported for this call.")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2**53, "an integer is larger than 2^53; send it as a string"),
        ("a\x00b", "text contains a NUL or an unpaired surrogate"),
    ],
)
def test_a_value_that_cannot_be_stored_is_a_result_and_no_error_of_the_client(agent, value, words):
    found = agent.call("request_approval", {"action": "refund", "input": {"order": value}})
    assert (found["error"], found["text"]) == (True, f"The arguments are invalid.\ninput.order: {words}")


def test_checking_waits_and_strangers_see_nothing(agent, people):
    question = unique("Which size?")
    asked = agent.start("ask_human", {"question": question})
    request = people.waiting(question)
    checked = agent.start("check_request", {"request_id": request["id"]})
    people.decide(request, "respond", answer="L")
    assert [agent.outcome(name)["answer"] for name in (asked, checked)] == ["L", "L"]
    absent = agent.call("check_request", {"request_id": str(uuid.uuid4())})
    assert (absent["error"], absent["structured"]) == (True, None)


def test_the_permission_prompt_is_one_text_block(agent, people):
    tool = f"Write{uuid.uuid4().hex[:8]}"
    call = {"tool_name": tool, "input": {"path": "a"}, "tool_use_id": uuid.uuid4().hex}
    name = agent.start("permission", call)
    people.decide(people.waiting(tool), "edit", edited_input={"path": "b"})
    found = agent.result(name)
    assert (json.loads(found["text"]), found["structured"]) == (
        {"behavior": "allow", "updatedInput": {"path": "b"}},
        None,
    )


@pytest.mark.shows("mcp", "crash")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_that_is_killed_between_question_and_answer_keeps_the_request(tmp_path, mode):
    with Server(tmp_path, prepare=QUICK) as server:
        people = People(server)
        agent = Program(mode, people.asker.key, server.address)
        asked = {"action": "refund", "input": {"amount": 250}}
        first = agent.call("request_approval", asked, one_round=True)
        server.kill()
        server.start()
        request = people.waiting("refund")
        # The newer era goes on with the state; in the older one, the same call is the same request while that waits.
        state = {"request_state": first["state"]} if mode == "auto" else {}
        again = agent.call("request_approval", asked, one_round=True, **state)
        assert again.get("state") or again["structured"] == first["structured"]
        people.decide(request, "approve")
        if mode == "auto":
            result = agent.call("request_approval", asked, request_state=again["state"], one_round=True)["structured"]
        else:
            result = agent.call("check_request", {"request_id": request["id"]})["structured"]
        agent.close()
        assert (result["request_id"], result["status"], people.asked) == (request["id"], "approved", 1)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_processes_serve_one_client_in_turn(tmp_path, mode):
    with Server(tmp_path, prepare=QUICK) as one, Server(tmp_path, beside=one, prepare=QUICK) as other:
        people = People(one)
        agent = Program(mode, people.asker.key, one.address, other.address)
        name = agent.start("ask_human", {"question": "Which colour?"})
        request = people.waiting("colour")
        if mode == "auto":
            # The link comes once, and the rounds go to both processes.
            assert agent.hear("link")["link"] == request["url"]
            assert {agent.hear("sent_to")["sent_to"] for _ in range(3)} == {one.port, other.port}
        else:
            assert agent.result(name)["structured"]["status"] == "pending"
        people.decide(request, "respond", answer="blue")
        result = agent.outcome(name)
        agent.close()
        assert (result["answer"], people.asked) == ("blue", 1)
        assert [line for line in agent.happened if "link" in line] == []


@pytest.mark.shows("mcp", "crash")
def test_a_stream_of_a_killed_process_is_continued_by_another(tmp_path):
    with Server(tmp_path) as one, Server(tmp_path, beside=one) as other:
        people = People(one)
        agent = Program("legacy", people.asker.key, one.address, other.address)
        name = agent.start("ask_human", {"question": "Which colour?"})
        request = people.waiting("colour")
        agent.hear("progress")
        port = [line["sent_to"] for line in agent.happened if line.get("method") == "POST"][-1]
        killed, left = (one, other) if port == one.port else (other, one)
        killed.kill()
        approver = Remote(left, "approver", key=people.approver.key)
        reply = approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": "respond", "answer": "blue"})
        assert reply.status == 200
        result = agent.result(name)["structured"]
        agent.close()
        assert (result["request_id"], result["answer"], people.asked) == (request["id"], "blue", 1)
