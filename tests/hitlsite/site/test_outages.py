"""Outages of the database: refusals, retried work, and responses that are cut off."""

from __future__ import annotations

import json

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connection
from psycopg_pool import ConnectionPool

from approvals.db import pool
from approvals.db.transactions import LineTooLong
from approvals.models.keys import text_of
from chats import actions
from chats.actions.locking import Recorded
from chats.agent import events
from chats.models import TurnEvent
from hitlsite import env
from hitlsite.server.outages import RETRY_AFTER, Outages
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import make_chat, say
from tests.support.people import alice, bob
from tests.support.processes.ports import free_port

#: It has the shape of a key, so it is looked for.
KEY = text_of("01234567", "x" * 43)
WORDS = "No recorded data is lost."


def away(*_):
    """Raise the error of a statement on a broken connection; its text is for the log."""
    raise OperationalError("server closed the connection, host=db.internal password=hunter2")


@pytest.fixture
def browser(client, settings):
    client.force_login(bob())
    client.raise_request_exception = False
    return client


@pytest.mark.django_db
@pytest.mark.parametrize("debug", [False, True], ids=["in production", "with DEBUG"])
def test_a_page_explains_the_outage_and_when_to_try_again(browser, settings, debug):
    settings.DEBUG = debug
    with connection.execute_wrapper(away):
        answer = browser.get("/", headers={"Accept": "text/html"})
    text = answer.content.decode()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, str(RETRY_AFTER))
    assert (WORDS in text, "hunter2" in text, "Traceback" in text) == (True, False, False)
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/api/v1/requests"])
def test_a_row_that_stays_locked_is_another_503_that_says_to_try_again_soon(browser, path):
    def refuse(*_):
        raise LineTooLong("the row is locked, and others wait for it")

    with connection.execute_wrapper(refuse):
        response = browser.get(path, headers={"Accept": "text/html", "Authorization": f"Bearer {KEY}"})
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert "Someone else is still changing this" in response.content.decode()


@pytest.mark.django_db
def test_a_public_view_explains_the_outage_too(client):
    client.raise_request_exception = False
    with connection.execute_wrapper(away):
        answer = client.post("/login/", {"username": "bob", "password": "x"}, headers={"Accept": "text/html"})
    assert (answer.status_code, WORDS in answer.content.decode()) == (503, True)


@pytest.mark.django_db
def test_an_htmx_form_keeps_its_input(browser):
    with connection.execute_wrapper(away):
        answer = browser.post("/chats/new/", {"text": "hello"}, headers={"HX-Request": "true", "Accept": "text/html"})
    assert (answer.status_code, answer.headers["HX-Reswap"]) == (503, "beforebegin")
    assert (WORDS in answer.content.decode(), "<html" in answer.content.decode()) == (True, False)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/v1/requests", "/api/v1/workflows", "/api/chat/c1", "/chat/suspended"])
def test_an_api_client_gets_a_problem_document(browser, path):
    with connection.execute_wrapper(away):
        answer = browser.get(path, headers={"Authorization": f"Bearer {KEY}"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json")
    assert {name: answer.json()[name] for name in ("status", "code")} == {"status": 503, "code": "unavailable"}
    assert answer.headers["Retry-After"] == str(RETRY_AFTER)


@pytest.mark.django_db
def test_a_bug_stays_a_500(browser, settings):
    def broken(*_):
        raise RuntimeError("a mistake")

    with connection.execute_wrapper(broken):
        assert browser.get("/api/v1/requests", headers={"Authorization": f"Bearer {KEY}"}).status_code == 500


async def answered(app) -> list[dict]:
    sent = []

    async def send(message):
        sent.append(message)

    await Outages(app)({"type": "http"}, None, send)
    return sent


async def test_a_deferred_response_becomes_a_503_too():
    async def app(scope, receive, send):
        raise InterfaceError("connection already closed")

    start, body = await answered(app)
    assert (start["status"], json.loads(body["body"])["code"]) == (503, "unavailable")


async def test_a_started_response_is_cut_off_in_an_outage():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        away()

    with pytest.raises(OperationalError):
        await answered(app)


async def test_work_is_retried_until_the_database_is_back(monkeypatch):
    monkeypatch.setattr(pool, "RETRY", 0)
    tries = []

    def work(answer):
        tries.append(1)
        if len(tries) < 3:
            away()
        return answer

    assert (await pool.retry(work, 42), len(tries)) == (42, 3)


async def test_a_bug_is_not_retried():
    def work():
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        await pool.retry(work)


@pytest.mark.django_db
def test_events_with_an_unconfirmed_commit_are_stored_once():
    turn = say(make_chat(alice()), "hello")
    claim, _, last = claim_turn(turn.pk, owner="tests")
    first, second = (Recorded(last + n, 0, events.TextDelta("t", f"word {n}")) for n in (1, 2))
    actions.store_progress(claim, [first])
    actions.store_progress(claim, [first, second])
    assert list(TurnEvent.objects.filter(turn=turn).order_by("seq").values_list("seq", flat=True)) == [
        last + 1,
        last + 2,
    ]


def test_clients_that_wait_for_a_connection_fail_when_the_database_accepts_none():
    nowhere = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    with (
        ConnectionPool(nowhere, open=True, **env._pool(5)) as waiting,
        pytest.raises(psycopg.OperationalError, match="it takes no connections"),
    ):
        waiting.getconn()
