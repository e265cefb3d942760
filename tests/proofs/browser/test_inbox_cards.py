"""Cards in the inbox: drafts are kept, keys focus the answer, and new requests are inserted in order."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import PATIENCE
from tests.proofs.browser.test_assignees import NOTES
from tests.proofs.browser.test_inbox import announced, batches, marked, outcome, row, status
from tests.support.machine import Remote

pytestmark = pytest.mark.browser


@pytest.fixture
def asked(people):
    """Return a unique word, and a function that asks for a refund with it and returns the request's id."""
    word = f"batch{next(batches)}"
    numbers = itertools.count(1)
    return word, lambda: people("requester").pause(f"Please refund order {word}-{next(numbers)}, 500 euros")[1]


def card(page, request: str):
    return row(page, request).locator(".inbox-card > .request")


def expanded(page, request: str) -> str:
    return row(page, request).locator(".row-title").get_attribute("aria-expanded")


def focused(page, request: str, within: str) -> None:
    """Wait until this element of the request's card has the focus."""
    card(page, request).locator(f"{within}:focus").wait_for()


def opened(page, request: str):
    row(page, request).locator(".row-title").click()
    card(page, request).wait_for()
    return card(page, request)


def reviewed(page, request: str, amount: str) -> None:
    """Open the card and edit its input, up to the review."""
    opened(page, request)
    page.keyboard.press("e")
    card(page, request).get_by_label("amount").fill(amount)
    page.keyboard.press("Enter")
    focused(page, request, ".review-title")


def test_enter_in_an_open_card_closes_nothing(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")
    reviewed(page, request, "450")
    page.keyboard.press("Enter")
    assert card(page, request).locator(".changes ins").inner_text() == "450"
    focused(page, request, ".review-title")
    page.keyboard.press("v")
    focused(page, request, ".raw pre")
    page.keyboard.press("Enter")
    focused(page, request, ".raw pre")
    card(page, request).get_by_role("button", name="Approve with changes").click()
    focused(page, request, ".outcome")
    page.keyboard.press("Enter")
    focused(page, request, ".outcome")
    assert expanded(page, request) == "true"
    row(page, request).locator(".row-title").press("Enter")
    assert (card(page, request).count(), expanded(page, request)) == (0, "false")


@pytest.mark.parametrize("way", ["keys", "mouse"])
def test_input_of_a_closed_card_is_kept(windows, people, asked, way):
    word, ask = asked
    first, second = ask(), ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")

    def leave() -> None:
        if way == "keys":
            page.keyboard.press("j")
            card(page, second).wait_for()
        else:
            row(page, first).locator(".row-title").click()
        assert (card(page, first).is_visible(), expanded(page, first)) == (False, "false")

    def come_back() -> None:
        if way == "keys":
            page.keyboard.press("k")
            assert (marked(page), card(page, second).count()) == (first, 0)
        else:
            row(page, first).locator(".row-title").click()
        assert (card(page, first).is_visible(), expanded(page, first)) == (True, "true")

    opened(page, first)
    page.keyboard.press("c")
    page.keyboard.type("Half a sentence")
    page.keyboard.press("Escape")
    leave()
    come_back()
    assert card(page, first).get_by_placeholder("Message to the agent").input_value() == "Half a sentence"
    page.keyboard.press("e")
    card(page, first).get_by_label("amount").fill("450")
    page.keyboard.press("Enter")
    focused(page, first, ".review-title")
    leave()
    come_back()
    assert card(page, first).locator(".changes ins").inner_text() == "450"
    card(page, first).get_by_role("button", name="Edit again").click()
    focused(page, first, "details.edit > summary")
    leave()
    come_back()
    assert card(page, first).get_by_label("amount").input_value() == "450"
    row(page, first).locator(".row-title").click()
    page.keyboard.press("a")
    announced(page, "Opened. Read it, then press a to approve it.")
    assert card(page, first).is_visible()


def test_closed_card_decided_elsewhere_shows_its_outcome_when_opened(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("admin"), f"/requests/?q={word}")
    opened(page, request).get_by_placeholder("Message to the agent").fill("Half a sentence")
    row(page, request).locator(".row-title").click()
    people("approver").decide(request, verdict="reject")
    row(page, request).locator(".row-gist", has_text="Rejected by approver").wait_for()
    assert (card(page, request).is_visible(), expanded(page, request)) == (False, "false")
    row(page, request).locator(".row-title").click()
    assert outcome(page, request).inner_text().startswith("Rejected by approver")


def test_key_without_a_button_focuses_the_answer(windows, people, server, asked):
    word, ask = asked
    remote = Remote(server, "requester", ("ask", "read"))
    question = remote.ask(kind="question", title=f"Which, {word}?", options=[{"label": "Red"}, {"label": "Blue"}])["id"]
    request = ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")
    opened(page, question)
    page.keyboard.press("a")
    announced(page, "Choose one of the answers on the card.")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Red"
    reviewed(page, request, "450")
    page.keyboard.press("a")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Approve with changes"
    assert status(server, request) == "pending"
    page.keyboard.press("Enter")
    focused(page, request, ".outcome")
    assert status(server, request) == "approved"


def test_new_requests_in_a_grouped_list_get_their_own_heading(windows, people, asked):
    word, ask = asked
    first = ask()
    page = windows.open(people("approver"), f"/requests/?q={word}&group=tool")
    ask(), ask()
    page.get_by_role("button", name="Show 2 new requests").click()
    third = ask()
    page.get_by_role("button", name="Show 1 new request").click()
    shown = page.locator(".inbox-group, .inbox-list > .inbox-row").evaluate_all(
        "found => found.map(one => one.matches('h2') ? one.textContent : one.id.replace('row-', ''))"
    )
    assert (shown[:3], len(shown), shown[-1]) == (["issueRefund", first, "New"], 6, third)


def test_new_request_decided_before_it_was_shown_is_dropped(windows, people, asked):
    word, ask = asked
    page = windows.open(people("approver"), f"/requests/?q={word}")
    first, second = ask(), ask()
    page.get_by_role("button", name="Show 2 new requests").wait_for()
    page.evaluate("document.getElementById('announcements').textContent = ''")
    people("admin").decide(first, verdict="reject")
    show = page.get_by_role("button", name="Show 1 new request")
    show.wait_for()
    assert "new request" not in page.locator("#announcements").inner_text()
    people("admin").decide(second, verdict="reject")
    show.wait_for(state="hidden")
    # A view that includes decided requests shows it.
    page.goto(f"{people('approver').server.address}/requests/?q={word}&status=any")
    page.wait_for_selector('#live[data-state="on"]')
    third = ask()
    show.wait_for()
    people("admin").decide(third, verdict="reject")
    row(page, third).locator(".row-gist", has_text="Rejected by admin").wait_for(state="attached")
    assert show.is_visible()


def test_inbox_notifies_and_counts_in_its_title(windows, people, asked):
    word, ask = asked
    ask()
    bob = people("approver")
    page = windows.open(bob, "/workflows/")
    page.context.grant_permissions(["notifications"], origin=bob.server.address)
    page.context.add_init_script(NOTES)
    page.goto(f"{bob.server.address}/requests/?q={word}")
    page.wait_for_selector('#live[data-state="on"]')
    waiting = int(page.locator("#counts").get_attribute("data-waiting"))
    assert page.title() == f"({waiting}) Inbox · Pausepoint"
    page.locator(".user").click()
    page.locator("#notify").click()
    page.wait_for_selector('#notify[aria-pressed="true"]')
    page.evaluate("window.away = true")
    _, elsewhere = people("requester").pause("Please refund order elsewhere, 500 euros")
    expect(page).to_have_title(re.compile(rf"^\({waiting + 1}\) "), timeout=PATIENCE)
    expected = [["Run issueRefund?", "Waiting for you: issueRefund", elsewhere]]
    page.wait_for_function("expected => JSON.stringify(window.notes) === JSON.stringify(expected)", arg=expected)
    people("admin").decide(elsewhere, verdict="reject")
    expect(page).to_have_title(re.compile(rf"^\({waiting}\) "), timeout=PATIENCE)
    assert page.evaluate("window.notes") == expected


def test_decided_by_filter_works_without_a_status(windows, people, asked):
    word, ask = asked
    request, other = ask(), ask()
    people("approver").decide(request, verdict="reject")
    page = windows.open(people("approver"), f"/requests/?q={word}")
    assert (row(page, request).count(), row(page, other).count()) == (0, 1)
    page.get_by_text("More filters and grouping").click()
    page.get_by_label("Decided by").fill("approver")
    page.get_by_role("button", name="Apply", exact=True).click()
    row(page, request).wait_for()
    assert page.url.endswith(f"/requests/?q={word}&by=approver")
    assert page.get_by_label("Status").evaluate("field => field.selectedOptions[0].textContent") == "Decided"
