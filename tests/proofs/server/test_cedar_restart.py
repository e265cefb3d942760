"""A Cedar-OS page continues after the server was killed between pause and resume."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.support.chats.front_end import refusal, runs, shown
from tests.support.machines import Answer
from tests.support.processes.server import Server
from tests.support.services import real_processes  # noqa: F401

YES, NO = {"approved": True}, {"approved": False, "feedback": "no"}


pytestmark = pytest.mark.django_db(transaction=True)


def post(server: Server, key: str, path: str, body: dict[str, Any]) -> Answer:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read().decode()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, text)
    finally:
        connection.close()


def test_a_server_killed_between_pause_and_resume_continues_the_turn(tmp_path, real_processes):  # noqa: F811
    with Server(tmp_path) as server:
        key = server.key("approver")
        body = {"prompt": "approve payment", "threadId": "t", "additionalContext": {"order": {"data": 4711}}}
        (run,) = runs(post(server, key, "/chat/stream", body))
        server.kill()
        server.start()
        word = {"runId": run["runId"], "stepPath": run["stepPath"], "resumeData": YES}
        (text,) = shown(post(server, key, "/chat/resume/stream", word))
        assert text.startswith("The payment is settled: status sent")
        late = refusal(post(server, key, "/chat/resume/stream", word))
        assert late.startswith("This request was approved just now by API key tests of approver")
        parts = server.value("SELECT parts FROM chats_message WHERE role = 'user' ORDER BY id DESC LIMIT 1")
        assert json.loads(parts)[-1] == {"type": "data-page-context", "data": {"order": {"data": 4711}}}
