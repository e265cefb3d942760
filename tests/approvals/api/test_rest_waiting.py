"""GET /api/v1/requests/{id} with `wait`: its cost, and the calls that don't wait."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db.backends.utils import CursorWrapper

from approvals.background import waiting_room
from approvals.models import ApprovalRequest
from approvals.states import Verdict
from benchmarks.load.budgets import over
from tests.approvals.api.test_ask_human_waiting import NEVER
from tests.support import machines
from tests.support.desk.requests import decide, make_request
from tests.support.machines import machine
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db(transaction=True)


def address(pk: object, seconds: int = 60) -> str:
    return f"/api/v1/requests/{pk}?wait={seconds}"


def test_a_long_poll_reads_the_key_and_the_request_before_and_after_it_waits(monkeypatch):
    monkeypatch.setattr(waiting_room, "POLL", NEVER)
    monkeypatch.setattr(machines, "SWEEP", NEVER)
    asker = alice()
    agent, request = machine(asker), make_request(asker)
    agent.get("/api/v1/requests")  # notes that the key is used, once a minute
    found: list[str] = []
    execute = CursorWrapper.execute

    def noted(self: CursorWrapper, sql: str, params: Any = None) -> Any:
        # Opening a connection and looking for turns without a runner are not part of this call.
        found.extend([sql] if "approvals_" in sql else [])
        return execute(self, sql, params)

    with monkeypatch.context() as patched:
        patched.setattr(CursorWrapper, "execute", noted)
        answer = agent.get(address(request.pk, seconds=1))
    assert (answer.status, answer.json["status"]) == (200, "pending")
    assert over({"wait": 4}, {"wait": len(found)}) == {}


def test_what_has_ended_or_is_not_there_is_answered_at_once():
    asker = alice()
    agent, request = machine(asker), make_request(asker)
    decide(request, bob(), Verdict.APPROVE)
    ended, missing = (agent.get(address(pk)) for pk in (request.pk, uuid4()))
    assert (ended.status, ended.json["status"]) == (200, "approved")
    assert ended.json == agent.get(f"/api/v1/requests/{request.pk}").json
    assert (missing.status, missing.code) == (404, "not_found")


def test_absent_and_forbidden_requests_look_alike_to_one_who_would_wait():
    stranger, forbidden = machine(mallory()), make_request(alice())
    refusals = [stranger.get(address(pk)) for pk in (forbidden.pk, uuid4())]
    found = {(refusal.status, refusal.code, refusal.json["detail"]) for refusal in refusals}
    assert found == {(404, "not_found", "Request not found. It may not exist, or you may not have access.")}


def test_the_answer_to_one_who_waits_has_the_result_that_was_reported():
    agent = machine(alice())
    asked = agent.post("/api/v1/requests", {"kind": "approval", "title": "Refund?", "tool_name": "refund"}).json
    decide(ApprovalRequest.objects.get(pk=asked["id"]), bob(), Verdict.APPROVE)
    result = {"input_digest": asked["input_digest"], "output": 1}
    agent.post(f"/api/v1/requests/{asked['id']}/result", result)
    assert agent.get(address(asked["id"])).json["result"]["output"] == 1


def test_head_does_not_wait():
    asker = alice()
    agent = machine(asker)
    found = [agent.call("HEAD", address(pk)) for pk in (make_request(asker).pk, uuid4())]
    assert [answer.status for answer in found] == [200, 404]
