"""Two thousand bodies that no client should send, over one connection to a real server."""

from __future__ import annotations

from http.client import HTTPConnection

import pytest

from tests.approvals.api.mcp.agent import Response
from tests.approvals.api.mcp.hostile import hostile_bodies, problem_of, was_taken
from tests.contract.frameworks.mcp.program import SOON, People
from tests.support.machines import Answer
from tests.support.processes.server import Server

pytestmark = pytest.mark.server

AT_ONCE = "from approvals.api.mcp import calls; calls.WAIT = calls.ROUND = calls.PATIENCE = 0.0"
HOSTILE = 2000


def test_hostile_bodies_get_errors_of_the_protocol_and_store_nothing(tmp_path):
    wrong, taken = [], 0
    with Server(tmp_path, prepare=AT_ONCE, HITL_ASKS_PER_MINUTE="0") as server:
        people = People(server)
        connection = HTTPConnection("127.0.0.1", server.port, timeout=SOON)
        for body, headers in hostile_bodies(HOSTILE):
            sent = {"authorization": f"Bearer {people.asker.key}", "content-type": "application/json", **headers}
            connection.request("POST", "/mcp", body, sent)
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            response = Response(Answer(reply.status, found, reply.read().decode()))
            taken += was_taken(response)
            if problem := problem_of(response):
                wrong.append((problem, reply.status, body[:300]))
        assert wrong == []
        # Refused calls have stored nothing; most were refused.
        assert people.asked <= taken < HOSTILE / 3
        assert "Traceback" not in server.log.read_text()
