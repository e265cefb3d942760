"""A request is handled on one thread, from the first middleware to the last."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.staticfiles import finders
from django.db import connection

from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from approvals.record import export
from hitlsite.asgi import application
from hitlsite.server.handler import THREADS, OneThreadHandler
from tests.support.desk.requests import make_request
from tests.support.machines import PATIENCE, Answer, Machine, answer_on
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db(transaction=True)


async def crossings(machine: Machine, method: str, path: str, body: object = None) -> tuple[Answer, int]:
    """Return the answer, and how often threads handed something to the event loop meanwhile."""
    loop, found = asyncio.get_running_loop(), []
    hand_over = loop.call_soon_threadsafe
    loop.call_soon_threadsafe = lambda *given, **more: (found.append(1), hand_over(*given, **more))[1]
    try:
        return await machine.acall(method, path, body), len(found)
    finally:
        del loop.call_soon_threadsafe


@pytest.mark.parametrize("path", ["/login/", "/static/pausepoint/desk.css", "/api/v1/", "/nothing/"])
def test_a_request_crosses_from_threads_to_the_event_loop_once(path):
    _answer, count = asyncio.run(crossings(Machine(), "GET", path))
    assert count == 1


def test_a_request_of_the_api_crosses_once():
    owner = alice()
    asked, machine = make_request(owner), Machine(create_key(owner, name="test", scopes=SCOPES)[1])
    answer, count = asyncio.run(crossings(machine, "GET", f"/api/v1/requests/{asked.pk}"))
    assert (answer.status, answer.json["id"], count) == (200, str(asked.pk), 1)


def test_a_static_file_is_sent_whole():
    path = finders.find("pausepoint/desk.css")
    with open(path) as file:
        text = file.read()
    answer = Machine().get("/static/pausepoint/desk.css")
    assert (answer.status, answer.text, answer.headers["content-length"]) == (200, text, str(len(text.encode())))


def test_the_connections_of_a_request_are_closed_or_kept_by_its_thread():
    held = []

    class Watching(OneThreadHandler):
        def respond(self, scope, body):
            response = super().respond(scope, body)
            held.append((threading.current_thread().name, connection.connection is not None))
            return response

    line = ApplicationCommunicator(Watching(), Machine().connect("GET", "/login/", b"", {}).scope)

    async def story() -> int:
        await line.send_input({"type": "http.request"})
        return (await answer_on(line, await line.receive_output(PATIENCE))).status

    assert asyncio.run(story()) == 200
    [(name, kept)] = held
    assert (name.startswith("pausepoint-read"), kept) == (True, connection.vendor == "sqlite" and kept)


def test_a_read_does_not_wait_for_writes_that_wait_for_each_other():
    release = threading.Event()

    class Blocked(OneThreadHandler):
        def respond(self, scope, body):
            if scope["method"] == "POST":
                release.wait(PATIENCE)
            return super().respond(scope, body)

    def sent(method: str) -> ApplicationCommunicator:
        return ApplicationCommunicator(Blocked(), Machine().connect(method, "/login/", b"", {}).scope)

    async def answered(line: ApplicationCommunicator) -> int:
        return (await answer_on(line, await line.receive_output(PATIENCE))).status

    async def story() -> list[int]:
        writes = [sent("POST") for _ in range(THREADS)]
        for line in writes:
            await line.send_input({"type": "http.request"})
        read = sent("GET")
        await read.send_input({"type": "http.request"})
        statuses = [await answered(read)]
        release.set()
        return statuses + [await answered(line) for line in writes]

    try:
        assert asyncio.run(story()) == [200] + [403] * THREADS
    finally:
        release.set()


def test_a_client_that_leaves_during_its_request_gets_nothing_and_breaks_nothing():
    async def story() -> list[dict]:
        line = Machine().connect("POST", "/api/v1/requests", b"", {})
        await line.send_input({"type": "http.disconnect"})
        await line.wait(PATIENCE)
        return list(line.output_queue._queue)

    assert asyncio.run(story()) == []


def test_a_client_that_leaves_an_export_ends_it(monkeypatch):
    monkeypatch.setattr(export, "PIECE", 1)
    owner, auditor = alice(), make_person("carol", "view_auditentry")
    for _ in range(60):
        make_request(owner)
    machine = Machine(create_key(auditor, name="test", scopes=("audit",))[1])

    async def story() -> bytes:
        line = machine.connect("GET", "/api/v1/audit?format=csv", b"", {})
        await line.send_input({"type": "http.request"})
        await line.receive_output(PATIENCE)
        first = await line.receive_output(PATIENCE)
        await line.send_input({"type": "http.disconnect"})
        await line.wait(PATIENCE)
        return first["body"]

    assert asyncio.run(story()).startswith(b"id,at,event")


def test_the_application_runs_in_this_handler():
    seen = application.application_mapping["http"]
    while not isinstance(seen, OneThreadHandler):
        seen = seen.app
    assert [middleware for middleware in (seen._middleware_chain,) if asyncio.iscoroutinefunction(middleware)] == []
