"""A request that is too large to be pushed keeps open pages live: its row arrives, and the page fetches its card."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.machine import Remote

pytestmark = pytest.mark.browser

LARGE = {
    "kind": "approval",
    "title": "File the minutes?",
    "tool_name": "file",
    "input": {"text": "word " * 180_000, "values": {f"value {number}": number for number in range(4_000)}},
}


def test_pages_stay_live_and_show_the_outcome_of_a_request_too_large_to_be_pushed(server, people, windows):
    agent, decider = Remote(server, "requester", ("ask", "read")), Remote(server, "approver", ("decide", "read"))
    first = agent.send("POST", "/requests", {**LARGE, "title": "A small one?", "input": {"a": 1}}).body
    inbox = windows.open(people("approver"), f"/#{first['id']}")
    request = agent.send("POST", "/requests", LARGE).body
    inbox.locator(f"#arrivals #row-{request['id']}").wait_for(state="attached")
    page = windows.open(people("admin"), f"/requests/{request['id']}/")
    decided = decider.send("POST", f"/requests/{request['id']}/decision", {"verdict": "reject", "comment": "Too long."})
    assert decided.status == 200
    page.locator(f"#request-{request['id']} .outcome blockquote", has_text="Too long.").wait_for()
    page.locator(f"#request-{request['id']} .badge", has_text="Rejected").wait_for()
    for window in (page, inbox):
        expect(window.locator("#live")).to_have_attribute("data-state", "on")
    after = agent.send("POST", "/requests", {**LARGE, "title": "Still live?", "input": {"a": 2}}).body
    inbox.locator(f"#arrivals #row-{after['id']}").wait_for(state="attached")
