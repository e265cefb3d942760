"""Real servers expire a request once and on time, across restarts and with many followers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from tests.proofs.rest.test_rest_waiting import THREADS, threads_of
from tests.support.desk.following import Parser
from tests.support.processes.server import Server, until
from tests.support.services import real_processes  # noqa: F401

#: Seconds that a deadline may be late by: one between two sweeps, and a loaded machine's time for the rest.
LATE = 60.0


def call(server: Server, key: str, method: str, path: str, body: Any = None, **headers: str) -> HTTPResponse:
    line = HTTPConnection("127.0.0.1", server.port, timeout=90)
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} | headers
    line.request(method, path, json.dumps(body) if body is not None else None, sent)
    return line.getresponse()


def ask(server: Server, key: str, question: dict[str, Any]) -> str:
    """The id of the question, as the database has it."""
    asked = call(server, key, "POST", "/api/v1/ask-human", question)
    assert asked.status == 202
    return str(json.load(asked)["requestId"]).replace("-", "")


def deadline_of(server: Server, request: str) -> datetime:
    found = parse_datetime(server.value("SELECT deadline_at FROM approvals_approvalrequest WHERE id = ?", request))
    assert found is not None
    return found.replace(tzinfo=UTC)


def move_deadline(server: Server, request: str, after: timedelta) -> None:
    """The deadline of a request, so long after now; servers know it from the database alone."""
    moment = f"{timezone.now() + after:%Y-%m-%d %H:%M:%S.%f}"
    server.rows("UPDATE approvals_approvalrequest SET deadline_at = ? WHERE id = ?", moment, request)


def ended_after(server: Server, request: str) -> float:
    """Seconds between a request's deadline and its end."""
    ended = parse_datetime(server.value("SELECT decided_at FROM approvals_decision WHERE request_id = ?", request))
    assert ended is not None
    return (ended.replace(tzinfo=UTC) - deadline_of(server, request)).total_seconds()


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_request_expires_once_and_on_time_across_a_restart(tmp_path):
    with Server(tmp_path) as server:
        key = server.key("requester", "ask", "read")
        question = {"question": "Which colour?", "timeout": 1000, "defaultResponse": "red"}
        ids = [ask(server, key, question | {"timeout": seconds * 1000}) for seconds in (1, 3600, 3600)]
        running, away, later = ids
        wait = call(server, key, "GET", f"/api/v1/ask-human/{UUID(running)}?wait=60")
        assert (wait.status, json.load(wait)["metadata"]["timedOut"]) == (200, True)
        assert 0 <= ended_after(server, running) < LATE

        server.kill()
        state = "SELECT status FROM approvals_approvalrequest WHERE id = ?"
        move_deadline(server, away, timedelta(seconds=-1))  # it passes while no server runs
        assert server.value(state, away) == "pending"
        server.start()
        until(lambda: server.value(state, away) == "expired", "the missed deadline is kept", LATE)
        server.stop()
        server.start()
        assert server.value(state, later) == "pending"
        move_deadline(server, later, timedelta(seconds=2))
        waited = call(server, key, "GET", f"/api/v1/ask-human/{UUID(later)}?wait=60")
        assert (waited.status, json.load(waited)["response"]) == (200, "red")
        assert 0 <= ended_after(server, later) < LATE
        bob_says = server.person("approver").decide(str(UUID(later)), verdict="respond", text="blue")
        assert bob_says.status == 410
        kept = server.rows(
            "SELECT request_id, count(*) FROM approvals_auditentry WHERE event = 'request.expired' GROUP BY 1"
        )
        assert sorted(kept) == sorted((one, 1) for one in ids)


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_fifty_followers_of_a_real_server_need_no_thread_each(tmp_path):
    with Server(tmp_path) as server:
        key = server.key("requester", "ask", "read")
        before = threads_of(server)
        streams = [call(server, key, "GET", "/api/v1/events") for _ in range(50)]
        assert [stream.readline() for stream in streams] == [b": connected\n"] * 50
        assert threads_of(server) <= before + THREADS
        assert call(server, key, "POST", "/api/v1/ask-human", {"question": "Which colour?"}).status == 202
        for stream in streams:
            parser, heard = Parser(), []
            while not heard:
                heard = parser.feed(stream.readline())
            assert heard[0].event == "human_request"
