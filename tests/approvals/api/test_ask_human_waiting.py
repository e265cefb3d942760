"""POST /api/v1/ask-human with `wait`: prompt answers, polling when a notification is lost, cleanup after disconnects."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from django.utils import timezone

from approvals.background import waiting_room
from approvals.db.pool import run
from approvals.live import doorbell
from approvals.models import ApprovalRequest
from approvals.models.keys import ApiKey
from tests.approvals.api.test_ask_human import ADDRESS, QUESTION, only, respond
from tests.support.machines import Answer, machine, served
from tests.support.people import alice, bob
from tests.support.waiting import until_clients_wait, until_nobody_waits

#: Seconds between reads of the rows, for tests in which only a ring may wake the waiting call.
NEVER = 3600.0

pytestmark = pytest.mark.django_db(transaction=True)


def test_waiting_ends_with_the_decision_before_the_next_poll(monkeypatch):
    monkeypatch.setattr(waiting_room, "POLL", NEVER)
    asker, decider = machine(alice()), bob()

    async def story() -> Answer:
        waiting = asyncio.ensure_future(asker.acall("POST", f"{ADDRESS}?wait=600", QUESTION))
        await until_clients_wait()
        assert not waiting.done()
        await run(respond, decider, "blue")
        return await waiting

    answer = served(story)
    assert (answer.status, answer.json["response"]) == (200, "blue")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


async def until_asked(count: int = 1) -> None:
    while await run(ApprovalRequest.objects.count) < count:
        await asyncio.sleep(0.01)


def test_waiting_too_long_returns_the_request_instead():
    asker = machine(alice())
    began = time.monotonic()
    answer = asker.post(f"{ADDRESS}?wait=0.3", QUESTION)
    assert (answer.status, answer.json["requestId"]) == (202, str(only().pk))
    assert time.monotonic() - began >= 0.3
    assert answer.headers["location"] == f"{ADDRESS}/{only().pk}"


def test_waiting_for_an_outcome_survives_a_lost_notification():
    asker, decider = machine(alice()), bob()
    asker.post(ADDRESS, QUESTION)

    def unheard() -> None:
        # As another process would: the commit rings on no loop that this one knows.
        loop, doorbell._loop = doorbell._loop, None
        respond(decider, "blue")
        doorbell._loop = loop

    async def story() -> Answer:
        waiting = asyncio.ensure_future(asker.acall("GET", f"{ADDRESS}/{await run(lambda: only().pk)}?wait=600"))
        await until_clients_wait()
        await run(unheard)
        return await waiting

    assert served(story).json["response"] == "blue"


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
def test_a_key_that_ends_while_waiting_gets_no_answer(column):
    asker, decider = machine(alice()), bob()

    async def story() -> Answer:
        waiting = asyncio.ensure_future(asker.acall("POST", f"{ADDRESS}?wait=30", QUESTION))
        await until_clients_wait()
        await run(lambda: ApiKey.objects.update(**{column: timezone.now()}))
        await run(respond, decider, "blue")
        return await waiting

    answer = served(story)
    assert (answer.status, answer.code, answer.headers["www-authenticate"]) == (401, "not_authenticated", "Bearer")


def test_a_client_that_disconnects_while_waiting_leaves_no_task_behind():
    asker = machine(alice())

    async def story() -> bool:
        line = asker.connect("POST", f"{ADDRESS}?wait=60", json.dumps(QUESTION).encode(), {})
        await line.send_input({"type": "http.request", "body": json.dumps(QUESTION).encode()})
        await until_clients_wait()
        await line.send_input({"type": "http.disconnect"})
        await line.wait(60)
        await until_nobody_waits()
        return True

    assert served(story)
