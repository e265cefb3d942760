"""Two servers on one database: the first decision wins on either, and a restart loses nothing."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import pytest

from tests.support.machines import Answer
from tests.support.processes.server import Server, until
from tests.support.services import real_processes  # noqa: F401


class Tab:
    """A chat client on one server, over a socket."""

    def __init__(self, server: Server, key: str, chat: str) -> None:
        self.server, self.key, self.chat = server, key, chat

    def send(self, method: str, path: str, body: Any = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=90)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        answer = Answer(response.status, found, response.read().decode())
        connection.close()
        return answer

    def say(self, text: str) -> Answer:
        message = {"id": uuid4().hex, "role": "user", "parts": [{"type": "text", "text": text}]}
        return self.send("POST", "/api/chat", {"id": self.chat, "message": message})

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = self.send("GET", f"/api/chat/{self.chat}").json
        return found

    def post(self, message: dict[str, Any], **changed: Any) -> Answer:
        """The message with its last part changed."""
        parts = [*message["parts"][:-1], message["parts"][-1] | changed]
        return self.send("POST", "/api/chat", {"id": self.chat, "message": {**message, "parts": parts}})


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, real_processes: None):  # noqa: F811
    folder = tmp_path_factory.mktemp("two")
    with Server(folder) as one, Server(folder, beside=one) as two:
        yield one, two


@pytest.fixture(scope="module")
def key(servers) -> str:
    return str(servers[0].key("approver"))


@pytest.fixture
def tabs(servers, key):
    """One tab on each server, at the same new chat."""
    chat = uuid4().hex
    return [Tab(server, key, chat) for server in servers]


def all_at_once(works: list[Any]) -> list[Answer]:
    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(work) for work in works]]


def test_fifty_answers_on_two_servers_have_one_winner_that_the_others_learn(tabs):
    tabs[0].say("ask")
    asked = tabs[1].read()["messages"][-1]
    works = [
        lambda tab=tabs[number % 2], number=number: tab.post(asked, state="output-available", output=number)
        for number in range(50)
    ]
    answers = all_at_once(works)
    assert Counter(answer.status for answer in answers) == {200: 1, 409: 49}
    (winner,) = [number for number, answer in enumerate(answers) if answer.status == 200]
    assert answers[winner].chunks[-1] == {"type": "finish", "finishReason": "stop"}
    assert {answer.json["decision"]["verdict"] for answer in answers if answer.status == 409} == {"respond"}
    last = tabs[1 - winner % 2].read()["messages"][-1]
    assert [part["output"] for part in last["parts"] if "output" in part] == [winner]


def test_one_of_two_contrary_decisions_wins_and_runs_once(tabs, servers):
    tabs[0].say("approve refund")
    asked = tabs[1].read()["messages"][-1]
    approval = asked["parts"][-1]["approval"]
    works = [
        lambda tab=tabs[number % 2], yes=bool(number % 3): tab.post(
            asked, state="approval-responded", approval=approval | {"approved": yes}
        )
        for number in range(20)
    ]
    answers = all_at_once(works)
    assert Counter(answer.status for answer in answers) == {200: 1, 409: 19}
    (call,) = [part for part in tabs[0].read()["messages"][-1]["parts"] if "toolCallId" in part]
    runs = servers[0].value("SELECT attempt FROM chats_toolcall WHERE tool_call_id = ?", call["toolCallId"])
    assert (call["state"], runs) in {("output-available", 1), ("output-denied", 0)}
    results = "SELECT count(*) FROM approvals_auditentry WHERE event = 'tool.result' AND tool_call_id = ?"
    assert servers[0].value(results, call["toolCallId"]) == 1


def test_a_first_message_sent_to_two_servers_is_accepted_once(tabs):
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    works = [
        lambda tab=tab: tab.send("POST", "/api/chat", {"id": tab.chat, "message": message}) for tab in [*tabs, *tabs]
    ]
    answers = all_at_once(works)
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409]
    assert len(tabs[0].read()["messages"]) == 2


def test_the_dashboard_of_one_server_and_the_client_of_the_other_show_the_same_end(tabs, servers):
    tabs[0].say("ask")
    request = tabs[0].read()["pending"][0]["requestId"]
    page = servers[1].person("approver").decide(request, verdict="respond", choice="1")
    assert page.status == 302
    until(lambda: tabs[0].read()["status"] == "idle", "the turn goes on without its client")
    part = tabs[0].read()["messages"][-1]["parts"][2]
    assert part["output"] == {"fieldName": "delivery", "selected": ["Express"], "selectedIndex": 1}


def test_a_restart_between_question_and_answer_loses_nothing(tmp_path, real_processes):  # noqa: F811
    with Server(tmp_path) as server:
        tab = Tab(server, server.key("approver"), "c1")
        tab.say("approve refund")
        asked = tab.read()["messages"][-1]
        server.kill()
        server.start()
        answer = tab.post(
            asked, state="approval-responded", approval=asked["parts"][-1]["approval"] | {"approved": True}
        )
        assert answer.chunks[0] == {"type": "start", "messageId": asked["id"]}
        assert [chunk["output"]["executions"] for chunk in answer.chunks if "output" in chunk] == [1]
        assert tab.read()["status"] == "idle"


def test_a_browser_may_come_with_its_session_and_needs_the_csrf_token(servers):
    person = servers[0].person("approver")
    person.get("/")
    body = json.dumps(
        {"id": uuid4().hex, "message": {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}}
    )
    kind = {"Content-Type": "application/json"}
    assert person.send("POST", "/api/chat", body, kind).status == 403
    answer = person.send("POST", "/api/chat", body, kind | {"X-CSRFToken": person.cookies["csrftoken"]})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert answer.text.endswith("data: [DONE]\n\n")
