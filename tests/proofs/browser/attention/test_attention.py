"""Look where it matters, in a browser: floods are one row, and advice comes after the own look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import violations
from tests.proofs.browser.test_bulk import read_on
from tests.proofs.browser.test_inbox import opened
from tests.support.machine import Remote
from tests.support.processes.server import Server

pytestmark = pytest.mark.browser

FLOOD = {"title": "Send a letter?", "tool_name": "sendLetter", "agent": "flooder"}


@pytest.fixture
def flooded(tmp_path: Path, real_processes: None) -> Iterator[Server]:
    """A server on which ten alike requests are a flood."""
    with Server(tmp_path, HITL_FLOOD="9") as running:
        yield running


def test_a_flood_is_one_row_that_opens_and_leads_to_the_page_that_decides_all(windows, flooded, axe):
    remote = Remote(flooded, "requester", ("ask", "read"))
    for number in range(11):
        remote.ask(**FLOOD, input={"to": "Ada", "letter_id": number})
    remote.ask(**FLOOD, input={"to": "Ben", "letter_id": 11})
    page = windows.open(flooded.person("approver"), "/?tool=sendLetter")
    rows = page.locator(".inbox-list > .inbox-row:visible")
    expect(rows).to_have_count(2)
    expect(page.locator(".alike summary")).to_have_text("10 more like this", use_inner_text=True)
    assert violations(page, axe) == {}

    # The keys walk into the fold, which opens, and out of it.
    places = [f"{number} of 12" for number in (1, 2, 3)]
    for place in places:
        page.keyboard.press("j")
        page.get_by_text(place, exact=True).wait_for()
    expect(page.locator(".alike .row-title:focus")).to_have_count(1)
    expect(rows).to_have_count(12)
    for _ in range(9):
        page.keyboard.press("j")
    page.get_by_text("12 of 12", exact=True).wait_for()
    expect(page.locator(".alike .row-title:focus")).to_have_count(0)
    for _ in range(11):
        page.keyboard.press("k")
    page.get_by_text("1 of 12", exact=True).wait_for()
    page.locator(".alike summary").click()
    expect(rows).to_have_count(2)
    # After a decision the next one is in the fold.
    opened(page, rows.first.get_attribute("id").removeprefix("row-"))
    page.keyboard.press("r")
    page.locator(".alike .inbox-row.selected").wait_for()
    expect(rows).to_have_count(12)
    page.goto(f"{flooded.address}/?tool=sendLetter")
    assert violations(page, axe) == {}

    with page.expect_navigation():
        page.get_by_role("button", name="Approve all of these…").click()
    page.get_by_role("heading", name="Approve 10 requests?").wait_for()
    page.wait_for_load_state()
    read_on(page)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_text("Approved.", exact=True)).to_have_count(10)


def test_advice_can_be_opened_once_all_was_in_view(windows, people, server, axe):
    remote, reviewer = Remote(server, "requester", ("ask", "read")), Remote(server, "auditor", ("read", "advise"))
    request = remote.ask(title="Write it?", tool_name="writeLetter", input={"text": "word " * 3000})
    advice = {"hint": "look_closer", "text": "It is <b>long</b>.", "raise_priority": "high"}
    assert reviewer.send("POST", f"/requests/{request['id']}/advice", advice).status == 201
    page = windows.open(people("approver"), f"/requests/{request['id']}/")
    fold = page.locator(".advice details")
    page.get_by_text("It is shown once you have seen the whole request").wait_for()
    expect(fold).to_be_hidden()
    assert violations(page, axe) == {}
    page.evaluate("card => window.pausepoint.unfold(document.querySelector('.request'))")
    page.wait_for_function("() => !window.pausepoint.unfold(document.querySelector('.request'))", polling=100)
    expect(fold).to_contain_text("It is <b>long</b>.")
    expect(fold).to_contain_text("raised the priority from Normal to High")
    assert violations(page, axe) == {}
