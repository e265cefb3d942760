"""Deadlines: kept once, on time, by nobody, over restarts; afterwards every door says 410."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from approvals import actions, sweep
from approvals.exceptions import Expired, Invalid
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Kind, Verdict
from tests.support.desk.following import Parser
from tests.support.desk.requests import PAST, decide, decisions, events, make_ask, make_request, make_workflow, stored
from tests.support.people import alice, bob
from tests.support.processes.server import Server, until
from tests.support.services import real_processes  # noqa: F401

#: Seconds that a deadline may be late by: one between two looks of the sweep, and what a loaded machine takes for the rest.
LATE = 30.0
MONTHS = timedelta(days=90)


def the_clock_moves_on(by: timedelta) -> None:
    """Time passes for all deadlines."""
    for request in ApprovalRequest.objects.filter(deadline_at__isnull=False):
        ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=request.deadline_at - by)


@pytest.mark.django_db
def test_an_approval_takes_no_default_at_all_for_its_only_default_is_a_no():
    workflow = make_workflow(alice())
    with pytest.raises(Invalid) as refusal:
        actions.request_approval(workflow, make_ask(default_response="yes"), requested_by=workflow.owner)
    assert (refusal.value.status, refusal.value.errors) == (
        422,
        {"default_response": "an approval can only be rejected by default"},
    )


@pytest.mark.django_db
def test_no_deadline_is_too_far_away_and_none_comes_early():
    deadline = timezone.now() + MONTHS
    request = make_request(alice(), Kind.QUESTION, deadline_at=deadline, default_response="red")
    the_clock_moves_on(MONTHS - timedelta(hours=1))
    sweep.run_once()
    assert stored(request).status == "pending"
    the_clock_moves_on(timedelta(hours=1, seconds=1))
    sweep.run_once()
    (decision,) = decisions(request)
    assert (stored(request).status, decision.answer, decision.by_id, decision.via) == (
        "expired",
        "red",
        None,
        "deadline",
    )


@pytest.mark.django_db
def test_a_late_answer_gets_410_on_the_page_and_changes_nothing():
    request, decider = make_request(alice(), Kind.QUESTION, deadline_at=PAST, default_response="red"), bob()
    browser = Client()
    browser.force_login(decider)
    for _ in range(2):
        late = browser.post(
            f"/requests/{request.pk}/decide/", {"verdict": "respond", "text": "blue", "digest": request.input_digest}
        )
        assert late.status_code == 410
    with pytest.raises(Expired):
        decide(request, decider, Verdict.RESPOND, answer="blue")
    assert ([d.answer for d in decisions(request)], events(request)) == (
        ["red"],
        ["request.created", "request.expired"],
    )


@pytest.mark.django_db(transaction=True)
def test_many_sweeps_at_once_keep_each_of_many_deadlines_once():
    owner = alice()
    asked = [make_request(owner, deadline_at=PAST) for _ in range(sweep.BATCH + 20)]
    together = threading.Barrier(4)

    def look() -> None:
        together.wait(60)
        try:
            sweep.expire_due_requests()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        for looked in [pool.submit(look) for _ in range(4)]:
            looked.result(180)
    expired = AuditEntry.objects.filter(event="request.expired").values_list("request_id", flat=True)
    assert sorted(expired) == sorted(request.pk for request in asked)


@pytest.mark.django_db
def test_one_look_of_the_sweep_keeps_all_that_are_due():
    owner = alice()
    asked = [make_request(owner, deadline_at=PAST) for _ in range(sweep.BATCH + 20)]
    sweep.expire_due_requests()
    assert [stored(request).status for request in asked] == ["expired"] * len(asked)


def call(server: Server, key: str, method: str, path: str, body: Any = None, **headers: str) -> HTTPResponse:
    line = HTTPConnection("127.0.0.1", server.port, timeout=90)
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} | headers
    line.request(method, path, json.dumps(body) if body is not None else None, sent)
    return line.getresponse()


def key_of(server: Server, folder: Path, name: str, *scopes: str) -> str:
    file = folder / f"{name}.key"
    server.run(
        "from pathlib import Path; from django.contrib.auth.models import User; from approvals import auth\n"
        f"key = auth.create_key(User.objects.get(username={name!r}), name='test', scopes={scopes!r})[1]\n"
        f"Path({str(file)!r}).write_text(key)"
    )
    return file.read_text()


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
def test_a_deadline_is_kept_once_and_on_time_by_a_server_and_by_the_next_one(tmp_path):
    with Server(tmp_path) as server:
        key = key_of(server, tmp_path, "requester", "ask", "read")
        question = {"question": "Which colour?", "timeout": 1000, "defaultResponse": "red"}
        ids = [ask(server, key, question | {"timeout": seconds * 1000}) for seconds in (1, 3600, 3600)]
        running, away, later = ids
        wait = call(server, key, "GET", f"/api/v1/ask-human/{UUID(running)}?wait=60")
        assert (wait.status, json.load(wait)["metadata"]["timedOut"]) == (200, True)
        assert 0 <= ended_after(server, running) < LATE

        server.kill()
        state = "SELECT status FROM approvals_approvalrequest WHERE id = ?"
        move_deadline(server, away, timedelta(seconds=-1))  # it passes while nobody serves
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
def test_fifty_real_followers_cost_a_server_no_thread_each_and_hear_all_the_same(tmp_path):
    with Server(tmp_path) as server:
        key = key_of(server, tmp_path, "requester", "ask", "read")
        streams = [call(server, key, "GET", "/api/v1/events") for _ in range(50)]
        assert [stream.readline() for stream in streams] == [b": connected\n"] * 50
        assert server.process is not None
        status = Path(f"/proc/{server.process.pid}/status")
        if status.exists():
            threads = int(status.read_text().partition("Threads:")[2].split()[0])
            assert threads < 25
        assert call(server, key, "POST", "/api/v1/ask-human", {"question": "Which colour?"}).status == 202
        for stream in streams:
            parser, heard = Parser(), []
            while not heard:
                heard = parser.feed(stream.readline())
            assert heard[0].event == "human_request"
