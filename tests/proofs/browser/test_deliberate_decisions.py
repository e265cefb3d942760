"""Keys and presses decide nothing by accident: mistyped names, critical requests, parts that were never in view;
and acts of people can be undone."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import LIVE, violations
from tests.proofs.browser.test_inbox import FLOWING, FROZEN, announced, opened, status
from tests.proofs.browser.test_live import card
from tests.proofs.browser.test_looks import OVERFLOW
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

DROP = {"title": "Drop it?", "tool_name": "dropOrders", "input": {"table": "orders"}, "priority": "critical"}
NAME = ".verdicts [name=typed_name]"
#: The mistyped name once a script has selected it, which is a moment after the error is on the page.
SELECTED = "[name=typed_name][data-ready]:focus"


@pytest.fixture
def ask(server):
    remote = Remote(server, "requester", ("ask", "read"))
    return lambda **changes: remote.ask(**DROP | changes)["id"]


def mistype(page) -> None:
    """Send a wrong name and wait for the error."""
    page.locator(NAME).first.fill("droporders")
    page.keyboard.press("Enter")
    page.locator(".refusal", has_text="This request is critical").wait_for()
    page.locator(f".verdicts {SELECTED}").wait_for()


@pytest.mark.parametrize("where", ["page", "list"])
def test_mistyped_name_is_selected_for_correction(windows, people, server, ask, where):
    windows.tolerate(" 422 ")
    request = ask(title=f"Drop from {where}?")
    page = windows.open(
        people("approver"), f"/requests/{request}/" if where == "page" else "/requests/?q=Drop+from+list"
    )
    if where == "list":
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.locator(NAME).first.wait_for()
    mistype(page)
    # Type the whole name again, which contains the shortcut keys "r" and "a".
    page.keyboard.type("dropOrders")
    expect(page.locator(f"{NAME}:focus")).to_have_value("dropOrders")
    assert status(server, request) == "pending"
    page.keyboard.press("Enter")
    page.locator(".outcome").wait_for()
    assert status(server, request) == "approved"


def test_mistyped_name_of_an_edit_is_selected_for_correction(windows, people, server, ask):
    windows.tolerate(" 422 ")
    page = windows.open(people("approver"), f"/requests/{ask()}/")
    page.keyboard.press("e")
    page.locator(".edit [name=typed_name]").fill("droporders")
    page.keyboard.press("Enter")
    page.locator(".refusal").wait_for()
    page.locator(f".edit {SELECTED}").wait_for()
    page.keyboard.type("dropOrders")
    expect(page.locator(".edit [name=typed_name]:focus")).to_have_value("dropOrders")
    page.keyboard.press("Enter")
    page.locator(".review-title").wait_for()


def test_no_single_key_decides_a_critical_request(windows, people, server, ask):
    request = ask()
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.keyboard.press("r")
    announced(page, "Critical: press the button to decide it.")
    expect(page.locator(":focus")).to_have_text("Reject")
    page.locator(NAME).first.fill("dropOrders")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator(":focus")).to_have_text("Approve")
    assert status(server, request) == "pending"


def test_no_single_key_decides_while_an_error_is_shown(windows, people, server, ask):
    windows.tolerate(" 422 ")
    request = ask(priority="normal", input={"amount": 5})
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.keyboard.press("e")
    page.get_by_label("amount").fill("lots")
    page.keyboard.press("Enter")
    page.locator(".refusal").wait_for()
    expect(page.get_by_label("amount")).to_be_focused()
    page.keyboard.press("Escape")
    for key in ("r", "a"):
        page.keyboard.press(key)
        announced(page, "Read the message on this page, then press the button.")
    assert status(server, request) == "pending"
    page.get_by_label("amount").fill("6")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Edit again").click()
    page.locator("details.edit > summary:focus").wait_for()
    page.keyboard.press("r")
    page.locator(".outcome").wait_for()
    assert status(server, request) == "rejected"


def test_no_single_key_decides_behind_a_dialog(windows, people, server, ask):
    request = ask(priority="normal")
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.keyboard.press("?")
    for key in ("r", "a"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Close").click()
    assert status(server, request) == "pending"


HARMLESS = {f"note {number}": "All fine." for number in range(200)}
FOLDED = {"priority": "normal", "input": {"note": "x" * 5_000, "orders": [f"order {number}" for number in range(60)]}}
SIZES = {
    "wide": {"width": 1440, "height": 900},
    "phone": {"width": 390, "height": 844},
    "zoomed": {"width": 640, "height": 450},
}
#: Whether nothing covers an element, such as the bar with the buttons.
IN_VIEW = """part => {
    const { left, top, bottom } = part.getBoundingClientRect();
    return [top + 2, bottom - 2].every(y => part.contains(document.elementFromPoint(left + 8, y)));
}"""
ROWS_IN_VIEW = f"card => [...card.querySelectorAll('.values tr')].map({IN_VIEW})"
BAR = """card => [...card.querySelectorAll('.verdicts :is(.decision-bar, .decision-stay)')]
    .find(bar => bar.getClientRects().length && getComputedStyle(bar).position === 'sticky')
    ?.getBoundingClientRect().height / innerHeight"""
#: The second after the page has moved by itself, in which keys do nothing, is over at once.
RESTED = "{ const { now } = performance; performance.now = () => now.call(performance) + 1000; }"
UNSEEN = "SELECT body FROM approvals_auditentry WHERE event = 'request.decided' AND request_id = ?"


def see_all(page) -> None:
    """Press o until everything was in view."""
    for _ in range(12):
        page.keyboard.press("o")
        if "Everything is open, and was in view." in page.evaluate("window.announcements"):
            return
    raise AssertionError(page.evaluate("window.announcements"))


@pytest.mark.parametrize("size", SIZES)
def test_one_press_approves_nothing_that_was_never_in_view(windows, people, server, ask, size):
    windows.tolerate(" 422 ")
    refund = {"title": "Refund 5 EUR", "tool_name": "refund"}
    below = ask(**refund, message="All fine, refund of 5 EUR.\n\n" * 60, input={"amount": 50_000, "to": "EVIL"})
    behind = ask(**refund, priority="normal", input=HARMLESS | {"amount": 50_000, "to": "EVIL"})
    page = windows.open(people("approver"), f"/requests/{below}/", viewport=SIZES[size])
    shown = card(page, below)
    # A critical request, whose bar has the most in it.
    until(lambda: (shown.evaluate(BAR) or 1) < 1 / 3, "a bar that takes at most a third of the height")
    until(lambda: shown.evaluate(ROWS_IN_VIEW) == [True, True], "both values in view")
    page.goto(f"{server.address}/requests/{behind}/" if size != "wide" else f"{server.address}/#{behind}")
    shown = card(page, behind)
    shown.get_by_role("button", name="Approve").click()
    shown.get_by_text("You haven't seen").wait_for()
    assert status(server, behind) == "pending"
    # The button tells until all of it was in view.
    approve = shown.locator("button[data-key=a]")
    expect(approve).to_have_text("Approve unseen part")
    note = shown.locator("[data-view='input.180']")
    assert note.get_attribute("data-viewed") is None
    note.evaluate("part => part.scrollIntoView({ block: 'center' })")
    shown.locator("[data-view='input.180'][data-viewed]").wait_for()
    left = shown.locator(".values [data-view]:not([data-viewed])").count()
    approve.evaluate("button => button.click()")  # without scrolling to it first
    # In the Inbox, the next request comes in its place.
    shown.locator(".outcome").wait_for(state="visible" if size != "wide" else "attached")
    unseen = json.loads(server.value(UNSEEN, behind.replace("-", "")))["data"]["unseen"]
    assert 0 < unseen["values"] == left < 200


def test_an_ordinary_mail_costs_one_key(windows, people, server, ask):
    lines = "Thank you for your order. It leaves our house on Monday. " * 4
    mail = {"to": "a@example.com", "subject": "Your order", "body": "\n\n".join(["Dear Ada,", *[lines] * 6, "Yours"])}
    assert 1_300 < len(mail["body"]) < 1_600
    for size in (SIZES["wide"], {"width": 1280, "height": 800}):
        request = ask(title="Answer Ada", tool_name="send_email", priority="normal", input=mail)
        page = windows.open(people("approver"), f"/#{request}", viewport=size)
        opened(page, request).locator("[data-view='input.2'][data-viewed]").wait_for()
        page.keyboard.press("a")
        until(lambda asked=request: status(server, asked) == "approved", "the approval")


def test_one_key_opens_everything_and_shows_what_was_not_in_view(windows, people, server, ask):
    request = ask(**FOLDED)
    page = windows.open(people("approver"), f"/requests/{request}/", viewport=SIZES["wide"])
    shown = card(page, request)
    shown.get_by_text("all 5,000 characters").wait_for()
    see_all(page)
    assert shown.locator("details.fold:not([open])").count() == 0
    page.keyboard.press("a")
    shown.locator(".outcome").wait_for()
    assert "unseen" not in json.loads(server.value(UNSEEN, request.replace("-", "")))["data"]


def test_a_wide_table_scrolls_in_its_own_frame_and_its_rows_are_seen_span_by_span(windows, people, server, ask, axe):
    lines = (
        [f"column {number}" for number in range(20)],
        *([f"value {number}" for number in range(20)] for _ in range(30)),
    )
    table = "\n".join(map(",".join, lines))
    request = ask(title="Import", tool_name="import", priority="normal", input={"table": table})
    page = windows.open(people("approver"), f"/requests/{request}/", viewport={"width": 900, "height": 1400})
    shown, presses = card(page, request), 0
    frame = shown.locator(".scroll")
    frame.wait_for()
    # All lines are in view, but not the whole of any.
    assert (page.evaluate(OVERFLOW) <= 0, shown.locator("tr[data-viewed]").count()) == (True, 0)
    while not shown.evaluate("card => window.pausepoint.seen.isSeen(card)"):
        page.evaluate(RESTED)
        page.keyboard.press("a")
        presses += 1
        assert presses < 60
    assert frame.evaluate("frame => frame.scrollLeft") > 0
    assert violations(page, axe) == {}
    assert shown.locator("tr[data-view]:not([data-viewed])").count() == 0
    page.evaluate(RESTED)
    page.keyboard.press("a")
    until(lambda: status(server, request) == "approved", "the approval")
    assert "unseen" not in json.loads(server.value(UNSEEN, request.replace("-", "")))["data"]


def test_parts_that_were_never_in_view_cause_one_warning_beside_the_button(windows, people, server, ask):
    windows.tolerate(" 422 ")
    request = ask(**FOLDED)
    page = windows.open(people("approver"), f"/requests/{request}/")
    shown = card(page, request)
    page.evaluate(FROZEN)
    shown.locator("button[data-key=a]").click()
    page.locator(".decision-bar .refusal:focus", has_text="You haven't seen").wait_for()
    expect(shown.locator("details.fold:not([open])")).to_have_count(0)
    expect(page.locator(".refusal")).to_contain_text("Press O to read them.")
    # The page scrolled to the unseen part, and both this and the message are in view.
    page.wait_for_function("() => scrollY > 0")
    until(lambda: page.locator(".refusal").evaluate(IN_VIEW), "the message is in view")
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=Path(folder) / "unread.png")
    # Within a second, no key decides.
    for key in ("a", "r"):
        page.keyboard.press(key)
        announced(page, "The page has just moved. Look at it, then press again.")
    page.evaluate(FLOWING)
    assert status(server, request) == "pending"
    shown.locator("button[data-key=a]").click()
    page.locator(".outcome").wait_for()
    assert status(server, request) == "approved"
    assert json.loads(server.value(UNSEEN, request.replace("-", "")))["data"]["unseen"]["parts"] > 0


# Zoomed, the list shows a request as a phone does.
@pytest.mark.parametrize(
    ("where", "size"),
    [(where, size) for where in ("page", "list") for size in SIZES if (where, size) != ("list", "zoomed")],
)
def test_the_key_that_approves_pages_through_what_is_unread_first(windows, people, server, ask, size, where):
    body = "\n\n".join(f"Dear Ada, part {part}. " + "It leaves our house on Monday. " * 20 for part in range(12))
    request = ask(title="Write", tool_name="write", priority="normal", input={"to": "ada@example.com", "body": body})
    page = windows.open(
        people("approver"), f"/requests/{request}/" if where == "page" else f"/#{request}", viewport=SIZES[size]
    )
    if where == "list":
        opened(page, request)
    shown, presses = card(page, request), 0
    shown.locator("button[data-key=a]").wait_for()
    page.evaluate(FROZEN)
    page.keyboard.press("a")
    announced(page, "You have not seen all of it. Read on, then press a again.")
    page.keyboard.press("a")
    announced(page, "The page has just moved. Look at it, then press again.")
    page.evaluate(FLOWING)
    while not shown.evaluate("card => window.pausepoint.seen.isSeen(card)"):
        page.evaluate(RESTED)
        page.keyboard.press("a")
        presses += 1
        assert presses < 60
    page.evaluate(RESTED)
    assert status(server, request) == "pending"
    page.keyboard.press("a")
    until(lambda: status(server, request) == "approved", "the approval")
    assert "unseen" not in json.loads(server.value(UNSEEN, request.replace("-", "")))["data"]


def test_ctrl_enter_rejects_with_the_message(windows, people, server, ask):
    request = ask(priority="normal", input={"amount": 5})
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.keyboard.press("n")
    page.keyboard.type("Seen twice.")
    page.keyboard.press("Control+Enter")
    page.locator(".internal-note", has_text="Seen twice.").wait_for()
    # The note may be pushed before the answer to its form, which takes the focus.
    expect(page.locator(".new-note textarea:focus")).to_have_value("")
    page.locator("#main").focus()
    page.keyboard.press("c")
    page.keyboard.type("Too much.")
    page.keyboard.press("Control+Enter")
    page.locator(".outcome blockquote", has_text="Too much.").wait_for()
    assert status(server, request) == "rejected"


#: Seconds that no test lasts: the decision is held until the test ends that.
LONG_HOLD = 3_600
HOLD = "document.body.dataset.holdSeconds = '{}'"
UNDO = "document.dispatchEvent(new CustomEvent('pausepoint:undo'))"
LONG = {"memo": "Pay this. " * 30, "rows": [{"number": number, "state": "open"} for number in range(20)]}


@pytest.fixture
def payments(server):
    agent = Remote(server, "requester", ("ask", "read"))
    return [agent.ask(input=LONG, title=f"Pay {number}", tool_name="pay")["id"] for number in range(4)]


def held(windows, person, request, seconds):
    """The page of a request for a person who holds decisions this long."""
    page = windows.open(person, "/insights/")
    page.context.add_init_script(f"document.addEventListener('readystatechange', () => {{ {HOLD.format(seconds)} }})")
    page.goto(f"{person.server.address}/requests/{request}/")
    page.wait_for_selector(LIVE)
    return page


def test_a_held_decision_is_undone_sent_when_its_time_is_up_or_the_page_is_left(windows, people, server, payments):
    first, second, third, fourth = payments
    page = held(windows, people("approver"), first, LONG_HOLD)
    approve, lines = card(page, first).locator("button[data-key=a]"), page.locator("#holds .toast")
    # The bar is in view though the input is longer than the window.
    assert card(page, first).bounding_box()["height"] > page.viewport_size["height"]
    see_all(page)
    approve.click()
    lines.get_by_text(re.compile(r"^3[56]\d\d seconds$")).wait_for()
    page.evaluate(UNDO)
    lines.get_by_text("Undone. Nothing was sent: Pay 0").wait_for()
    assert status(server, first) == "pending"

    page = held(windows, people("approver"), second, 1)
    see_all(page)
    card(page, second).locator("button[data-key=a]").click()
    card(page, second).locator(".outcome").wait_for()
    assert status(server, second) == "approved"

    page = held(windows, people("approver"), third, LONG_HOLD)
    card(page, third).locator("button[data-key=r]").click()
    page.goto(f"{server.address}/insights/")
    until(lambda: status(server, third) == "rejected", "the decision that was held when the page was left")

    page = held(windows, people("approver"), fourth, LONG_HOLD)
    card(page, fourth).get_by_placeholder("Message to the agent").fill("Wait for the invoice.")
    card(page, fourth).locator("button[data-key=a]").click()
    lines = page.locator("#holds .toast")
    lines.get_by_role("button", name="Undo").wait_for()
    people("admin").decide(fourth, verdict="reject")
    lines.get_by_text("Someone else decided first").wait_for()
    page.get_by_text("This was rejected while you were typing. What you typed is kept.").wait_for()
    page.get_by_role("button", name="Use as internal note").click()
    expect(page.locator("#notes textarea")).to_have_value("Wait for the invoice.")
