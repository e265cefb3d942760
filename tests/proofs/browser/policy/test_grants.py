"""Approve for a while: give a grant, see what runs without asking, use it, revoke it, and ask about everything."""

from __future__ import annotations

import pytest

from tests.proofs.browser.places import violations
from tests.support.machine import Remote

pytestmark = pytest.mark.browser

CALL = {
    "title": "Send the report?",
    "tool_name": "sendReport",
    "input": {"to": "team", "month": 11},
    "agent": "reporter",
}


def press(page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def status(remote: Remote) -> str:
    return str(remote.ask(**CALL)["status"])


def test_a_grant_is_given_with_a_key_seen_used_revoked_and_stopped(windows, people, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    first = remote.ask(**CALL)
    page = windows.open(people("approver"), f"/requests/{first['id']}/")

    # Give: the panel opens with a key, says what the terms mean as they change, and approves.
    page.locator("#detail-title").click()
    page.keyboard.press("Shift+A")
    title = page.get_by_role("heading", name="Approve this, and let more run without asking")
    title.wait_for()
    assert title.evaluate("one => one === document.activeElement")
    assert violations(page, axe) == {}
    sentence = page.locator(".grant-sentence")
    assert sentence.inner_text().startswith(
        "Calls of sendReport with this exact input run without asking for this API key (requested by requester), until"
    )
    page.get_by_label("All uses are used up").check()
    page.get_by_label("Uses at most").fill("2")
    page.locator(".grant-sentence", has_text="at most 2 times").wait_for()
    page.get_by_role("button", name="Approve and grant").click()
    page.locator(".outcome").wait_for()

    # Use: the same call does not ask, and says why.
    assert status(remote) == "approved"
    page.goto(server.address + "/settings/grants/")
    row = page.locator(".row.grant", has_text="sendReport")
    assert "used 1 time" in row.inner_text()
    assert violations(page, axe) == {}
    with page.expect_navigation():
        row.get_by_role("link").first.click()
    assert violations(page, axe) == {}
    with page.expect_navigation():
        page.get_by_role("link", name="Send the report?").click()
    assert page.locator(".outcome").inner_text().startswith("Approved by grant of approver (use 1 of 2)")

    # Stop all: every page says so, and the same call waits.
    page.goto(server.address + "/settings/grants/")
    page.get_by_text("Ask about everything…").click()
    press(page, "Ask about everything")
    page.goto(server.address + "/")
    page.locator(".ask-banner", has_text="Ask about everything is on").wait_for()
    assert violations(page, axe) == {}
    assert status(remote) == "pending"
    page.goto(server.address + "/settings/grants/")
    press(page, "Use grants again")
    assert page.locator(".ask-banner").count() == 0

    # Revoke: the grant is among the ended ones, and the same call waits.
    with page.expect_navigation():
        page.locator(".row.grant", has_text="sendReport").get_by_role("button").click()
    assert page.locator(".row.grant", has_text="sendReport").count() == 0
    assert status(remote) == "pending"


def test_without_scripts_the_panel_is_a_page(windows, people, server):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL | {"tool_name": "sendLetter"})
    page = windows.open(people("approver"), f"/requests/{request['id']}/", java_script_enabled=False)
    with page.expect_navigation():
        page.get_by_role("link", name="Approve for…").click()
    page.get_by_label("Any input").check()
    press(page, "Show what this means")
    assert page.locator(".grant-sentence").inner_text().startswith("Calls of sendLetter with any input run")
    press(page, "Approve and grant")
    assert page.locator(".outcome b").all_inner_texts()[:2] == ["Approved", "approver"]
    assert remote.ask(**CALL | {"tool_name": "sendLetter", "input": {"to": "Jane"}})["status"] == "approved"
