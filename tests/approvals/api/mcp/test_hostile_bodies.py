"""Every answer is in the form of the protocol, and a refused body stores nothing."""

from __future__ import annotations

import pytest

from approvals.api.mcp import calls
from approvals.db.pool import run
from approvals.models import ApprovalRequest
from tests.approvals.api.mcp.agent import ADDRESS, Response
from tests.approvals.api.mcp.hostile import hostile_bodies, problem_of, was_taken
from tests.support.machines import machine, served
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


def test_hostile_bodies_get_errors_of_the_protocol_and_store_nothing(monkeypatch, settings):
    settings.HITL_ASKS_PER_MINUTE = 0
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)
    sender = machine(alice(), "ask", "read")

    async def story() -> tuple[list[object], int]:
        wrong: list[object] = []
        stored = taken = 0
        for body, headers in hostile_bodies(300):
            response = Response(await sender.acall("POST", ADDRESS, raw=body, headers=headers))
            before, stored = stored, await run(ApprovalRequest.objects.count)
            taken += was_taken(response)
            if (problem := problem_of(response)) or (stored > before and not was_taken(response)):
                wrong.append((problem or "stored", response.answer.status, body[:300]))
        return wrong, taken

    wrong, taken = served(story)
    assert wrong == []
    # Most are refused; else they would not test much.
    assert taken < 100
