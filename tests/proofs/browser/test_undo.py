"""Decisions that a page holds so that they can be undone, and texts that stay in the browser until they are sent."""

from __future__ import annotations

import pytest

from tests.proofs.browser.test_live import card
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

HOLD = "document.body.dataset.holdSeconds = '{}'"
UNDO = "document.dispatchEvent(new CustomEvent('pausepoint:undo'))"
LONG = {"memo": "Pay this. " * 30, "rows": [{"number": number, "state": "open"} for number in range(20)]}


@pytest.fixture
def requests(server):
    agent = Remote(server, "requester", ("ask", "read"))
    return [agent.ask(input=LONG, title=f"Pay {number}", tool_name="pay")["id"] for number in range(4)]


def status(server, request):
    return server.value("SELECT status FROM approvals_approvalrequest WHERE id = ?", request.replace("-", ""))


def held(windows, person, request, seconds):
    """The page of a request for somebody who holds decisions this long."""
    page = windows.open(person, "/insights/")
    page.context.add_init_script(f"document.addEventListener('readystatechange', () => {{ {HOLD.format(seconds)} }})")
    page.goto(f"{person.server.address}/requests/{request}/")
    page.wait_for_selector('#live[data-state="on"]')
    return page


def test_a_held_decision_is_undone_sent_when_its_time_is_up_or_the_page_is_left(windows, people, server, requests):
    first, second, third, fourth = requests
    page = held(windows, people("approver"), first, 30)
    approve, lines = card(page, first).locator("button[data-key=a]"), page.locator("#holds .hold")
    # The bar is in view though the input is longer than the window.
    assert card(page, first).bounding_box()["height"] > 1_000
    approve.click()
    lines.get_by_text("30 seconds").or_(lines.get_by_text("29 seconds")).wait_for()
    page.evaluate(UNDO)
    lines.get_by_text("Undone. Nothing was sent: Pay 0").wait_for()
    assert status(server, first) == "pending"

    page = held(windows, people("approver"), second, 1)
    card(page, second).locator("button[data-key=a]").click()
    card(page, second).locator(".outcome").wait_for()
    assert status(server, second) == "approved"

    page = held(windows, people("approver"), third, 30)
    card(page, third).locator("button[data-key=r]").click()
    page.goto(f"{server.address}/insights/")
    until(lambda: status(server, third) == "rejected", "the decision that was held when the page was left")

    page = held(windows, people("approver"), fourth, 30)
    card(page, fourth).get_by_placeholder("Message to the agent").fill("Wait for the invoice.")
    card(page, fourth).locator("button[data-key=a]").click()
    lines = page.locator("#holds .hold")
    lines.get_by_role("button", name="Undo").wait_for()
    people("admin").decide(fourth, verdict="reject")
    lines.get_by_text("Somebody else was faster").wait_for()
    card(page, fourth).get_by_text("This was rejected while you were typing. Your note is kept.").wait_for()
    card(page, fourth).get_by_role("button", name="Use as internal note").click()
    assert page.locator("#notes textarea").input_value() == "Wait for the invoice."


def test_what_was_typed_and_folded_is_there_again_on_the_next_visit(windows, people, server, requests):
    windows.tolerate(" 422 ")
    page = windows.open(people("approver"), f"/requests/{requests[0]}/")
    shown = card(page, requests[0])
    shown.get_by_placeholder("Message to the agent").fill("Half a thought")
    summary = shown.locator("details.branch > summary").first
    summary.focus()
    page.keyboard.press("ArrowLeft")
    until(lambda: page.evaluate("localStorage.getItem('pausepoint.folds') ?? ''").count("pay/rows"), "the fold")
    page.reload()
    page.wait_for_selector('#live[data-state="on"]')
    assert shown.get_by_placeholder("Message to the agent").input_value() == "Half a thought"
    assert not shown.locator("details.branch").first.evaluate("branch => branch.open")
    # What this browser has folded counts as unseen.
    shown.locator("button[data-key=a]").click()
    shown.get_by_text("1 collapsed part was never opened: 20 values.").wait_for()
    shown.get_by_role("button", name="Approve unseen part").click()
    shown.locator(".outcome").wait_for()
    assert page.evaluate("Object.values(localStorage).join()").count("Half a thought") == 0
