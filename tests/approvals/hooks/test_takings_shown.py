"""Which call has taken a decision is on the request, its record and the audit page, and pages that are open follow."""

from __future__ import annotations

import pytest

from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.pages.pushes import assignee
from approvals.states import Door, Verdict
from tests.approvals.hooks.calls import CLAUDE_CODE, PERMISSION, decide, only
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_a_taking_is_shown_wherever_the_request_is():
    agent, approver = Machine(alice()), bob()
    agent.post(f"{CLAUDE_CODE}?wait=0", PERMISSION)
    decide(approver, Verdict.APPROVE)
    request = only()
    page = browser(approver)
    assert "Used by" not in page.get(request.get_absolute_url()).text
    agent.post(f"{CLAUDE_CODE}?wait=0", PERMISSION)
    words = f"Used by Claude Code, session {PERMISSION['session_id']}, API key a machine of alice"
    push = assignee.render_change(
        standing_of(approver), BatchCache(), "request.taken", str(request.pk), None, Door.DASHBOARD
    )
    for html in (page.get(request.get_absolute_url()).text, push):
        (line,) = [one for one in parse(html).find("div") if one.attributes.get("id") == f"taking-{request.pk}"]
        assert line.words.startswith(words)
    assert f"<td>{words}</td>" in page.get(f"{request.get_absolute_url()}record/").text
