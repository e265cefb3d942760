"""The WebSocket of the Workflows page."""

from __future__ import annotations

import pytest

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db.pool import run
from approvals.states import Door, Verdict
from tests.hitlsite.pages.test_websockets import QUIET
from tests.support.desk.requests import end_workflow, make_request
from tests.support.lines import line
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


async def test_workflows_are_pushed_when_they_wait_and_when_they_end():
    by, owner = await run(bob), await run(alice)
    async with line("/ws/workflows/?since=0", by) as page, line("/ws/workflows/?q=other", by) as other:
        request = await run(make_request, owner)
        seen = await page.until(f'id="workflow-{request.workflow_id}"')
        assert [one.attributes["data-list"] for one in parse(seen).find("li", class_="workflow-row")] == ["suspended"]
        await run(desk.decide, request.pk, Answer(Verdict.APPROVE), by=by, via=Door.DASHBOARD)
        await run(end_workflow, request.workflow)
        seen = await page.until('data-list="completed"')
        # Both changes may come in one push, or in two.
        assert [tab.words for tab in parse(seen).find("span", id="tab-workflows")][-1] == "0"
        assert await other.receive_nothing(QUIET)
