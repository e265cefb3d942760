"""How many statements a call takes until its response is complete; a budget, on every database."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.backends.utils import CursorWrapper

from approvals import actions
from approvals.api.mcp import calls
from approvals.asking.answers import Answer
from approvals.background import waiting_room
from approvals.db.pool import run
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from benchmarks.load.budgets import over
from tests.approvals.api.mcp.agent import REFUND, Agent
from tests.support import machines
from tests.support.machines import served
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


HOUR = 3600.0
NAMED = {"claudecode/toolUseId": "toolu_1"}


def approve(by: User) -> str:
    request = ApprovalRequest.objects.get(status="pending")
    actions.decide(request.pk, Answer(Verdict.APPROVE), by=by, via=Door.DASHBOARD)
    return str(request.pk)


@pytest.fixture
def statements(monkeypatch) -> list[str]:
    """The statements of all threads, whose connections may be older than the test."""
    found: list[str] = []
    execute = CursorWrapper.execute

    def noted(self: CursorWrapper, sql: str, params: Any = None) -> Any:
        found.append(sql)
        return execute(self, sql, params)

    monkeypatch.setattr(CursorWrapper, "execute", noted)
    return found


def test_each_call_keeps_to_its_budget(monkeypatch, statements):
    monkeypatch.setattr(calls, "WAIT", 0.0)
    # The checks every second or ten for missed events cost the calls nothing, but on a slow machine one came
    # between two of them.
    monkeypatch.setattr(waiting_room, "POLL", HOUR)
    monkeypatch.setattr(machines, "SWEEP", HOUR)
    agent, decider = Agent(alice()), bob()

    async def story() -> dict[str, int]:
        found = {}

        async def cost(name: str, tool: str, arguments: dict[str, Any], meta: dict[str, str]) -> None:
            statements.clear()
            response = await agent.acall(tool, arguments, meta=meta)
            assert "isError" not in response.result, response.answer.text
            kinds = ("SELECT", "INSERT", "UPDATE", "DELETE")
            # The runner of turns, which starts beside the calls, reads once, at any time.
            found[name] = len([sql for sql in statements if sql.startswith(kinds) and "chats_turn" not in sql])

        await agent.asend("tools/list")  # notes that the key is used, once a minute
        await cost("ask and wait", "request_approval", REFUND, NAMED)
        await cost("the same again", "request_approval", REFUND, NAMED)
        approved = {"request_id": await run(approve, decider)}
        await cost("check", "check_request", approved, {})
        await cost("report", "report_result", {**approved, "output": 1}, {})
        await cost("ask without a name", "request_approval", REFUND, {})
        return found

    # Waiting costs three: whether the request has ended, and afterwards the key and the request.
    budget = {
        "ask and wait": 10,
        "the same again": 5,
        "check": 2,
        "report": 5,
        "ask without a name": 10,
    }
    assert over(budget, served(story)) == {}
