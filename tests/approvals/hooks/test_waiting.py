"""Hooks that wait in place: answered with the decision, and closed if no decision comes in time."""

from __future__ import annotations

import asyncio
import json

import pytest

from approvals.background import waiting_room
from approvals.db.pool import run
from approvals.states import Verdict
from tests.approvals.api.test_ask_human_waiting import NEVER
from tests.approvals.hooks.calls import BASH, decide, only
from tests.support.machines import Answer, machine, served
from tests.support.people import alice, bob
from tests.support.waiting import until_clients_wait, until_nobody_waits

ADDRESS = "/api/v1/hooks/claude-code"

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_call_waits_without_a_given_time_and_hears_the_decision_at_once(monkeypatch):
    monkeypatch.setattr(waiting_room, "POLL", NEVER)
    agent, decider = machine(alice()), bob()

    async def story() -> Answer:
        waiting = asyncio.ensure_future(agent.acall("POST", ADDRESS, BASH))
        await until_clients_wait()
        assert not waiting.done()
        await run(decide, decider, Verdict.APPROVE)
        return await waiting

    answer = served(story)
    assert (answer.status, answer.json["hookSpecificOutput"]["permissionDecision"]) == (200, "allow")
    assert answer.headers["pausepoint-status"] == "approved"


def test_at_the_end_of_its_time_a_call_is_denied_and_a_repeat_finds_its_request():
    agent = machine(alice())
    answers = [agent.post(f"{ADDRESS}?wait=0.1", BASH) for _ in range(2)]
    said = [answer.json["hookSpecificOutput"]["permissionDecision"] for answer in answers]
    assert (said, [answer.headers["pausepoint-request"] for answer in answers]) == (
        ["deny"] * 2,
        [only().public_url] * 2,
    )


def test_a_call_whose_deadline_passes_while_it_waits_is_told_so():
    answer = machine(alice()).post(f"{ADDRESS}?wait=1.5&expires=1", BASH)
    words = "No one decided in time, so this call was not run."
    assert (answer.json["hookSpecificOutput"]["permissionDecisionReason"], only().status) == (words, "expired")


def test_an_agent_that_goes_away_leaves_its_request_and_no_task():
    agent = machine(alice())

    async def story() -> None:
        line = agent.connect("POST", ADDRESS, json.dumps(BASH).encode(), {})
        await line.send_input({"type": "http.request", "body": json.dumps(BASH).encode()})
        await until_clients_wait()
        await line.send_input({"type": "http.disconnect"})
        await line.wait(60)
        await until_nobody_waits()

    served(story)
    assert only().status == "pending"
