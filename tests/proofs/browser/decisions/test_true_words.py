"""What a page says about a decision is true: after Back, behind a deadline, without a connection, under a held key."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.places import LIVE, violations
from tests.proofs.browser.test_bulk import reviewed
from tests.proofs.browser.test_deliberate_decisions import RESTED
from tests.proofs.browser.test_inbox import announced, opened, status
from tests.proofs.browser.test_live import card
from tests.support.machine import Remote

pytestmark = pytest.mark.browser

numbers = itertools.count(1)
#: The deadline of the request that is open is over, and the page has not been told what became of the request.
PASSED = "document.querySelector('[data-deadline]').dataset.deadline = '2020-01-01T00:00:00Z'"


@pytest.fixture
def pays(server):
    """Return a tool of its own, and the ids of three requests for it with a deadline in an hour."""
    tool = f"truly{next(numbers)}"
    remote = Remote(server, "requester", ("ask", "read"))
    return tool, [
        remote.ask(title=f"Pay {number}?", tool_name=tool, input={"amount": number}, timeout=3_600_000)["id"]
        for number in range(3)
    ]


def test_a_page_says_what_holds_after_back_and_when_the_deadline_has_passed(windows, people, server, pays):
    _tool, (first, second, _third) = pays
    page = windows.open(people("approver"), f"/requests/{first}/")
    page.wait_for_selector(LIVE)
    card(page, first).get_by_role("button", name="Approve", exact=True).click()
    outcome = card(page, first).locator(".outcome")
    expect(outcome).to_contain_text("Approved by approver")
    page.goto(f"{server.address}/requests/{second}/")
    page.wait_for_selector(LIVE)
    deadline = card(page, second).locator(".deadline")
    expect(deadline).to_contain_text("then it is rejected")
    page.evaluate(PASSED)
    expect(deadline).to_have_text("the deadline has passed")
    page.context.set_offline(True)
    expect(page.locator("#live")).to_have_text("Offline")
    page.context.set_offline(False)
    expect(page.locator("#live")).to_have_text("Live")
    page.go_back()
    expect(outcome).to_contain_text("Approved by approver")
    expect(card(page, first).locator("button[data-key]")).to_have_count(0)
    assert [status(server, one) for one in (first, second)] == ["approved", "pending"]


def test_a_held_key_decides_one_request(windows, people, server, pays):
    tool, (first, second, third) = pays
    page = windows.open(people("approver"), f"/?tool={tool}#{first}")
    opened(page, first)
    page.keyboard.down("a")
    opened(page, second)
    # Also long after it has opened, the key that is still held decides nothing.
    page.evaluate(RESTED)
    page.keyboard.down("a")
    page.keyboard.down("a")
    page.keyboard.up("a")
    assert [status(server, one) for one in (first, second, third)] == ["approved", "pending", "pending"]
    page.keyboard.press("a")
    opened(page, third)
    assert [status(server, one) for one in (first, second, third)] == ["approved", "approved", "pending"]


def test_while_a_decision_is_on_its_way_the_other_key_only_says_so(windows, people, server, pays):
    tool, (first, second, _third) = pays
    page = windows.open(people("approver"), f"/?tool={tool}#{first}")
    opened(page, first)
    calls: list = []
    intercept(page, "**/decide/", lambda route: calls.append(route))
    page.evaluate(RESTED)
    page.keyboard.press("a")
    call = caught(page, calls)
    page.keyboard.press("r")
    announced(page, "Your last action is still being sent. Wait a moment.")
    call.continue_()
    opened(page, second)
    assert (len(calls), status(server, first), status(server, second)) == (1, "approved", "pending")


def test_a_bulk_page_without_a_connection_says_that_nothing_was_decided(windows, people, server, pays, axe):
    tool, requests = pays
    page = windows.open(people("approver"), viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    reviewed(page, server.address, tool)
    button = page.locator(".bulk-decide > button")
    expect(button).to_have_text("Approve 3 requests, 3 seen")
    page.context.set_offline(True)
    button.click()
    line = page.get_by_role("alert")
    expect(line).to_have_text("You are offline. Nothing has been decided. Try again when the connection is back.")
    assert violations(page, axe) == {}
    page.context.set_offline(False)
    expect(line).to_have_count(0)
    assert {status(server, one) for one in requests} == {"pending"}
    # Two presses in a row are one decision.
    button.dblclick()
    expect(page.locator("h1")).to_have_text("3 requests approved")
    assert {status(server, one) for one in requests} == {"approved"}
