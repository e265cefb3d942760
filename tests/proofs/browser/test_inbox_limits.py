"""The inbox in a browser: what no single key decides, bulk decisions, and the list without JavaScript."""

from __future__ import annotations

import itertools

import pytest

from tests.proofs.browser.test_inbox import ASK, announced, batches, row, status

pytestmark = pytest.mark.browser


@pytest.fixture
def asked(people):
    """Return a unique word, and a function that asks for a refund with it and returns the request's id."""
    word = f"batch{next(batches)}"
    numbers = itertools.count(1)
    return word, lambda: people("requester").pause(f"Please refund order {word}-{next(numbers)}, 500 euros")[1]


def test_critical_request_asks_for_its_name(windows, people, server, asked):
    windows.tolerate(" 422 ")
    word, _ = asked
    server.run(ASK.format(word=word, kind="APPROVAL", priority="CRITICAL"))
    page = windows.open(people("approver"), f"/?q={word}")
    card = page.locator("#detail-body .request")
    page.keyboard.press("j")
    card.wait_for()
    page.keyboard.press("a")
    assert page.evaluate("document.activeElement.name") == "typed_name"
    page.keyboard.type("droptable")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    announced(page, "Critical: press the button to decide it.")
    page.keyboard.press("Enter")
    card.locator(".field-error", has_text="Type exactly this: dropTable").wait_for()
    card.get_by_label("Critical: type dropTable to approve").first.fill("dropTable")
    card.get_by_role("button", name="Approve", exact=True).click()
    assert card.locator(".outcome p").first.inner_text().startswith("Approved by approver")


def test_no_key_decides_an_unknown_outcome(windows, people, server):
    word = f"batch{next(batches)}"
    server.run(ASK.format(word=word, kind="RECOVERY", priority="NORMAL"))
    page = windows.open(people("approver"), f"/?q={word}")
    page.keyboard.press("j")
    page.get_by_role("button", name="Run again").wait_for()
    for key in ("a", "r"):
        page.keyboard.press(key)
        announced(page, "Choose one of the answers on the card.")
        page.keyboard.press("Escape")
        page.evaluate("document.getElementById('announcements').textContent = ''")
    assert page.locator("#detail-body .verdicts").is_visible()


def test_key_does_nothing_right_after_a_change(windows, people, server, asked):
    request = asked[1]()
    page = windows.open(people("admin"), f"/requests/{request}/")
    people("approver").decide(request, verdict="reject")
    page.locator(".outcome").wait_for()
    page.keyboard.press("a")
    announced(page, "This request has just changed. Look at it, then press again.")
    assert status(server, request) == "rejected"


@pytest.mark.parametrize("scripted", [True, False], ids=["javascript", "plain"])
def test_bulk_decision_shows_each_outcome(windows, people, server, asked, scripted):
    word, ask = asked
    requests = [ask() for _ in range(3)]
    page = windows.open(people("approver"), f"/requests/?q={word}", java_script_enabled=scripted)
    for request in requests:
        row(page, request).get_by_role("checkbox").check()
    if scripted:
        assert page.locator("#bulk-count").inner_text() == "3 selected"
    page.get_by_label("Message to the agent, for all of them").fill("All the same.")
    page.locator("#bulk").get_by_role("button", name="Approve…").click()
    assert page.locator("h1").inner_text() == "Approve 3 requests?"
    assert page.locator(".bulk-tool h2").inner_text().split() == ["3", "issueRefund"]
    assert page.locator(".bulk-sums").inner_text().split() == ["Sum", "of", "amount", "1,500", "3", "values"]
    people("admin").decide(requests[1], verdict="reject")
    page.get_by_role("button", name="Approve 3 requests").click()
    assert page.locator("h1").inner_text().startswith("2 requests approved")
    words = page.locator(".bulk-table tbody td:last-child").all_inner_texts()
    assert (words[0], words[1].rstrip("."), words[2]) == (
        "Approved.",
        "This request was rejected just now by admin",
        "Approved.",
    )
    assert [status(server, one) for one in requests] == ["approved", "rejected", "approved"]
    page.get_by_role("link", name="Back to the inbox").click()
    assert page.url == f"{server.address}/requests/?q={word}"


def test_inbox_works_without_javascript(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), "/requests/", java_script_enabled=False)
    page.locator("#filter-q").fill(word)
    page.locator("#filter-q").press("Enter")
    row(page, request).locator(".row-title").click()
    assert page.url.endswith(f"/requests/{request}/")
