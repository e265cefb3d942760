"""The inbox in a browser: no single key or stray press decides, bulk decisions, and the list without JavaScript."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.test_bulk import read_on
from tests.proofs.browser.test_deliberate_decisions import LONG_HOLD, held
from tests.proofs.browser.test_inbox import FLOWING, FROZEN, announced, batches, card, opened, row, status
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

ASK = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.asking.asks import Ask
from approvals.states import Kind, Priority
owner = User.objects.get(username="requester")
workflow = actions.open_workflow(scope="key:9", key="{word}", title="By itself", source="api", owner=owner)
ask = Ask(kind=Kind.{kind}, title="Drop {word}", tool_name="dropTable", input={{"table": "{word}"}}, priority=Priority.{priority})
actions.request_approval(workflow, ask, requested_by=owner)
"""


@pytest.fixture
def asked(people):
    """Return a unique word, and a function that asks for a refund with it and returns the request's id."""
    word = f"batch{next(batches)}"
    numbers = itertools.count(1)
    return word, lambda: people("requester").pause(f"Please refund order {word}-{next(numbers)}, 500 euros")[1]


def until_read(page) -> None:
    """Wait until the open request was in view, and the page has not moved by itself for a second: then keys act on it."""
    page.wait_for_function(
        """() => {
          const card = document.querySelector("#detail-body .request"), { isSeen, hasJustMoved } = window.pausepoint.seen;
          return card !== null && isSeen(card) && !hasJustMoved();
        }"""
    )


def test_critical_request_asks_for_its_name(windows, people, server, asked):
    windows.tolerate(" 422 ")
    word, _ = asked
    server.run(ASK.format(word=word, kind="APPROVAL", priority="CRITICAL"))
    page = windows.open(people("approver"), f"/?q={word}")
    card = page.locator("#detail-body .request")
    page.keyboard.press("j")
    card.wait_for()
    until_read(page)
    page.keyboard.press("a")
    page.locator("[name=typed_name]:focus").wait_for()
    page.keyboard.type("droptable")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    announced(page, "Critical: press the button to decide it.")
    page.keyboard.press("Enter")
    card.locator(".field-error", has_text="Type exactly this: dropTable").wait_for()
    card.locator(".verdicts").get_by_label("Critical: type dropTable to approve").fill("dropTable")
    card.get_by_role("button", name="Approve", exact=True).click()
    expect(card.locator(".outcome p").first).to_contain_text("Approved by approver")


def test_keys_act_on_the_open_request_where_the_list_has_no_row_of_it(windows, people, server, asked):
    word, ask = asked
    first, second = ask(), ask()
    page = windows.open(people("approver"), f"/?q=elsewhere-{word}#{first}")
    opened(page, first)
    page.keyboard.press("x")
    announced(page, "This request cannot be selected.")
    page.keyboard.press("c")
    page.keyboard.type("a reason, not a")
    page.keyboard.press("Escape")
    assert status(server, first) == "pending"
    page.keyboard.press("r")
    card(page, first).locator(".outcome blockquote", has_text="a reason, not a").wait_for()
    # A change of it blocks the next key, and Escape leaves it.
    page.goto(f"{people('approver').server.address}/?q=elsewhere-{word}#{second}")
    opened(page, second)
    people("admin").decide(second, verdict="approve")
    card(page, second).locator(".outcome").wait_for()
    for words in ("This request has just changed. Look at it, then press again.", "There is nothing to decide here."):
        page.keyboard.press("r")
        announced(page, words)
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    announced(page, "No request is selected. Press j first.")


def test_no_key_decides_an_unknown_outcome(windows, people, server):
    word = f"batch{next(batches)}"
    server.run(ASK.format(word=word, kind="RECOVERY", priority="NORMAL"))
    page = windows.open(people("approver"), f"/?q={word}")
    page.keyboard.press("j")
    page.get_by_role("button", name="Run again").wait_for()
    until_read(page)
    for key in ("a", "r"):
        page.keyboard.press(key)
        announced(page, "Choose one of the answers on the card.")
        page.keyboard.press("Escape")
        page.evaluate("document.getElementById('announcements').textContent = ''")
    expect(page.locator("#detail-body .verdicts")).to_be_visible()


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
        expect(page.locator("#bulk-count")).to_have_text("3 selected")
    page.get_by_label("Message to the agent, for all of them").fill("All the same.")
    page.locator("#bulk").get_by_role("button", name="Approve…").click()
    expect(page.locator("h1")).to_have_text("Approve 3 requests?")
    assert page.locator(".bulk-tool h2").inner_text().split() == ["3", "issueRefund"]
    assert page.locator(".bulk-sums").inner_text().split() == ["Sum", "of", "amount", "1,500", "3", "values"]
    people("admin").decide(requests[1], verdict="reject")
    if scripted:
        page.wait_for_load_state()
        read_on(page)
    page.get_by_role("button", name="Approve 3 requests").click()
    expect(page.locator("h1")).to_contain_text("2 requests approved")
    words = page.locator(".bulk-table tbody td:last-child").all_inner_texts()
    assert (words[0], words[1].rstrip("."), words[2]) == (
        "Approved.",
        "This request was rejected just now by admin",
        "Approved.",
    )
    assert [status(server, one) for one in requests] == ["approved", "rejected", "approved"]
    page.get_by_role("link", name="Back to the Inbox").click()
    expect(page).to_have_url(f"{server.address}/requests/?q={word}")


def test_inbox_works_without_javascript(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), "/requests/", java_script_enabled=False)
    page.locator("#filter-q").fill(word)
    with page.expect_navigation():
        page.locator("#filter-q").press("Enter")
    row(page, request).locator(".row-title").click()
    expect(page).to_have_url(re.compile(f"/requests/{request}/$"))


@pytest.fixture
def pays(server):
    """Return a unique word, and the ids of three requests with it."""
    word = f"pays{next(batches)}"
    remote = Remote(server, "requester", ("ask", "read"))
    return word, [remote.ask(title=f"Pay {word} {number}?", tool_name="pay")["id"] for number in range(3)]


def test_a_double_click_and_a_click_on_what_has_just_opened_decide_one_request(windows, people, server, pays):
    word, (first, second, third) = pays
    page = windows.open(people("approver"), f"/?q={word}#{first}")
    approve = opened(page, first).locator("button[data-key=a]")
    approve.hover()
    page.mouse.down()
    page.mouse.up()
    opened(page, second)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.evaluate(FROZEN)
    card(page, second).locator("button[data-key=a]").click()
    page.wait_for_function(
        "id => window.pausepoint.pane.current() === id && window.pausepoint.pane.isLoaded()", arg=third
    )
    card(page, third).locator("button[data-key=a]").click()
    announced(page, "This request has just opened. Look at it, then press again.")
    page.evaluate(FLOWING)
    assert [status(server, one) for one in (first, second, third)] == ["approved", "approved", "pending"]


def test_menus_and_the_palette_decide_nothing_that_was_not_named(windows, people, server, pays):
    _word, (first, *_others) = pays
    page = windows.open(people("approver"), f"/#{first}")
    opened(page, first)
    page.locator("button.user").click()
    for key in ("a", "r"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    chosen = page.locator(".palette [aria-selected=true] .palette-label")
    for typed in ("", "r", "ret", "rej"):
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill(typed)
        assert {*chosen.all_inner_texts()} & {"Approve", "Reject"} == set()
        page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.keyboard.press("Control+1")
    expect(page.locator("#snooze")).to_be_visible()
    page.keyboard.press("Escape")
    assert status(server, first) == "pending"
    page.keyboard.press("Control+k")
    page.keyboard.type("rejct")
    page.keyboard.press("Enter")
    until(lambda: status(server, first) == "rejected", "the decision whose name was typed")


def test_a_held_enter_key_neither_confirms_nor_decides_again(windows, people, server, pays):
    word, (first, *others) = pays
    page = held(windows, people("approver"), first, LONG_HOLD)
    page.keyboard.press("a")
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.down("Enter")
    page.locator("#holds").get_by_text("Undone. Nothing was sent").wait_for()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.goto(f"{server.address}/?q={word}")
    page.locator("#bulk-all").check()
    page.locator("#bulk-comment").focus()
    page.keyboard.down("Enter")
    page.locator("[data-first-focus]:focus").wait_for()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    # The focus is at the top of the page, where Enter confirms nothing.
    page.keyboard.press("Enter")
    assert [status(server, one) for one in (first, *others)] == ["pending"] * 3
    page.locator(".bulk-decide > button").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Back to the Inbox").wait_for()
    assert [status(server, one) for one in (first, *others)] == ["approved"] * 3
