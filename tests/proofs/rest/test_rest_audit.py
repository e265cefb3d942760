"""The audit log over REST, from a real server: filters, formats, rights, and constant memory."""

from __future__ import annotations

import csv
import io
import json
import socket

import pytest

from approvals.record import audit
from tests.proofs.server.test_backpressure import ENTRIES, FILL, SIZE, memory
from tests.support.machine import Machine, Remote
from tests.support.people import alice
from tests.support.processes.server import Server
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture(scope="module")
def auditor(server):
    return Remote(server, "auditor", ("audit", "read"))


@pytest.fixture(scope="module")
def asked(server):
    """Two requests of an agent, the first one decided."""
    agent, decider = Remote(server, "requester", ("ask",)), Remote(server, "approver", ("decide",))
    made = [agent.ask(workflow_id=f"run-{n}", thread_id="t", tool_call_id=f"call-{n}") for n in range(2)]
    assert decider.send("POST", f"/requests/{made[0]['id']}/decision", {"verdict": "reject"}).status == 200
    return made


def events(auditor: Remote, query: str) -> list[str]:
    reply = auditor.send("GET", f"/audit?{query}")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/x-ndjson")
    return [f"{one['event']} {one['tool_call_id']}" for one in map(json.loads, reply.body.splitlines())]


def test_filters_select_matching_entries(auditor, asked):
    created, decided, other = "request.created call-0", "request.decided call-0", "request.created call-1"
    assert events(auditor, "thread=t") == [created, other, decided]
    assert events(auditor, "workflow=run-0") == [created, decided]
    assert events(auditor, f"request={asked[1]['id']}") == [other]
    assert events(auditor, "thread=t&event=request.decided") == [decided]
    assert events(auditor, "thread=t&person=API+key+remote+of+approver") == [decided]
    assert events(auditor, "tool_call_id=call-1&tool=refund") == [other]
    assert events(auditor, f"thread=t&scope={asked[0]['scope']}") == [created, other, decided]
    assert events(auditor, "thread=t&at_until=2020-01-01T00:00:00Z") == []
    assert events(auditor, "thread=t&at_from=2020-01-01T00:00:00Z") == [created, other, decided]
    ids = [json.loads(line)["id"] for line in auditor.send("GET", "/audit?thread=t").body.splitlines()]
    assert events(auditor, f"thread=t&after={ids[1]}") == [decided]
    assert events(auditor, "thread=nowhere") == []


def test_csv_is_supported(auditor, asked):
    reply = auditor.send("GET", "/audit?thread=t&format=csv")
    rows = list(csv.reader(io.StringIO(reply.body, newline="")))
    assert (reply.headers["content-type"], rows[0], len(rows)) == ("text/csv; charset=utf-8", audit.COLUMNS, 4)


def test_head_sends_no_entries(auditor, asked):
    assert auditor.send("HEAD", "/audit")[:2] == (200, "")


def test_the_scope_alone_does_not_allow_reading_entries(server):
    assert Remote(server, "requester", ("audit",)).send("GET", "/audit").refusal == (403, "not_allowed")


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["format=xml", "after=x", "request=x", "at_from=x", "limit=1", "tool=a&tool=b"])
def test_an_invalid_filter_is_refused_and_not_ignored(query):
    assert Machine(alice()).get(f"/audit?{query}").refusal == (422, "invalid")


@pytest.mark.parametrize("kind", ["jsonl", "ocsf"])
def test_a_hundred_megabytes_cost_the_server_little_memory(tmp_path, kind):
    with Server(tmp_path) as server:
        server.run(FILL)
        auditor = Remote(server, "auditor", ("audit",))
        auditor.send("GET", "/audit?event=nothing")
        before = highest = memory(server)
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            head = f"GET /api/v1/audit?format={kind} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            client.sendall(f"{head}Authorization: Bearer {auditor.key}\r\n\r\n".encode())
            lines = 0
            while piece := client.recv(1 << 16):
                lines += piece.count(b"\n")
                highest = max(highest, memory(server)) if lines % 50 == 0 else highest
        print(f"{ENTRIES * SIZE / 1e6:.0f} MB sent; the server grew from {before} to {highest} MB")
        assert lines > ENTRIES
        assert highest - before < 60
