"""The inbox in a browser: keyboard shortcuts, live updates and bulk decisions."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import LIVE

pytestmark = pytest.mark.browser

#: Each test asks for orders of its own, and looks at those only.
batches = itertools.count(1)


@pytest.fixture
def asked(people):
    """Return a unique word, and a function that asks for a refund with it and returns the request's id."""
    word = f"batch{next(batches)}"
    numbers = itertools.count(1)
    return word, lambda: people("requester").pause(f"Please refund order {word}-{next(numbers)}, 500 euros")[1]


def row(page, request: str):
    return page.locator(f"#row-{request}")


def card(page, request: str):
    return page.locator(f"#detail-body #request-{request}")


def opened(page, request: str):
    """Wait until this request is the open one and keys may decide it; return its card."""
    page.wait_for_function(
        "id => { const pane = window.pausepoint?.pane; return pane?.current() === id && pane.isLoaded() && pane.isSettled(); }",
        arg=request,
    )
    return card(page, request)


def status(server, request: str) -> str:
    return server.value("SELECT status FROM approvals_approvalrequest WHERE id = ?", request.replace("-", ""))


def marked(page) -> str:
    """Return the id of the selected request."""
    return page.evaluate("window.pausepoint.pane.selected()?.id.replace('row-', '') ?? ''")


#: Finds an announcement and forgets it with those before it, so that each is found once.
HEARD = """words => {
  const place = window.announcements.findIndex(text => text.includes(words));
  if (place >= 0) window.announcements.splice(0, place + 1);
  return place >= 0;
}"""


def announced(page, words: str) -> None:
    """Wait until this is announced; other announcements may come before or after it."""
    page.wait_for_function(HEARD, arg=words)


#: Makes the moment after a request has opened by itself last until FLOWING, however slow the machine is.
FROZEN = "{ const now = performance.now(); performance.now = () => now; }"
FLOWING = "delete performance.now"


def tops(page) -> list[float]:
    return page.evaluate("[...document.querySelectorAll('.inbox-row')].map(one => one.getBoundingClientRect().top)")


def test_requests_are_decided_by_keyboard_and_the_next_opens(windows, people, server, asked):
    word, ask = asked
    first, second, third = ask(), ask(), ask()
    page = windows.open(people("approver"), f"/?q={word}")
    page.keyboard.press("a")
    announced(page, "No request is selected. Press j first.")
    page.keyboard.press("j")
    opened(page, first)
    page.evaluate(FROZEN)
    page.keyboard.press("a")
    page.wait_for_function("id => window.pausepoint.pane.current() === id", arg=second)
    card(page, second).wait_for()
    # The row that has just opened by itself isn't decided by the same stroke.
    page.keyboard.press("a")
    announced(page, "This request has just opened. Look at it, then press again.")
    page.evaluate(FLOWING)
    assert [status(server, one) for one in (first, second)] == ["approved", "pending"]
    expect(row(page, first).locator(".row-values")).to_contain_text("Approved by approver")
    opened(page, second)
    page.keyboard.press("c")
    page.keyboard.type("not a, not r: just j and x")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    opened(page, third)
    page.keyboard.press("k")
    # The typed text is still there.
    message = opened(page, second).get_by_placeholder("Message to the agent")
    expect(message).to_have_value("not a, not r: just j and x")
    # Also when moving by mouse.
    titles = [row(page, one).locator(".row-title") for one in (third, second)]
    titles[0].click()
    opened(page, third)
    titles[1].click()
    opened(page, second)
    expect(message).to_have_value("not a, not r: just j and x")
    page.keyboard.press("r")
    opened(page, third)
    decided = server.value("SELECT comment FROM approvals_decision WHERE request_id = ?", second.replace("-", ""))
    assert (status(server, second), decided) == ("rejected", "not a, not r: just j and x")
    page.keyboard.press("v")
    page.locator(".raw pre:focus").wait_for()
    assert json.loads(page.locator("#detail-body .raw pre").first.inner_text())["orderId"] == f"{word}-3"
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("450")
    page.keyboard.press("Enter")
    page.locator(".review-title:focus").wait_for()
    # The confirmation of changes takes a second key.
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    announced(page, "Nothing else is waiting in this list.")
    assert status(server, third) == "approved"


def test_one_column_shows_list_or_request_and_back_returns(windows, people, asked):
    word, ask = asked
    first, second = ask(), ask()
    page = windows.open(people("approver"), f"/?q={word}", viewport={"width": 400, "height": 800})
    row(page, first).locator(".row-title").click()
    card(page, first).wait_for()
    expect(row(page, first)).to_be_hidden()
    expect(page).to_have_url(re.compile(f"#{first}$"))
    page.get_by_role("button", name="Next request").click()
    card(page, second).wait_for()
    page.go_back()
    row(page, first).wait_for()
    expect(page.locator("#detail")).to_be_hidden()
    expect(page).to_have_url(re.compile(rf"\?q={word}$"))
    # A reload shows the open request again.
    row(page, second).locator(".row-title").click()
    card(page, second).wait_for()
    page.reload()
    card(page, second).wait_for()


def test_filters_views_palette_and_snooze(windows, people, server, asked):
    word, ask = asked
    first, second = ask(), ask()
    bob = people("approver")
    page = windows.open(bob, f"/?q={word}")
    page.locator(".filter-menu > summary").click()
    page.locator("summary", has_text="Tool").click()
    page.locator(".suggestions a", has_text="issueRefund").wait_for()
    # The field of the menu has the focus. Typing filters, and Enter takes the first suggestion.
    page.locator("[data-chip=tool] input:focus").wait_for()
    page.keyboard.type("zzz")
    expect(page.locator(".suggestions a:visible")).to_have_count(0)
    for _ in "zzz":
        page.keyboard.press("Backspace")
    page.keyboard.type("REF")
    page.keyboard.press("Enter")
    page.wait_for_url("**tool=issueRefund**")
    page.locator("summary", has_text="Save view").click()
    page.get_by_label("Name").fill(word)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name=f"{word} 2").wait_for()
    page.wait_for_load_state()  # before that, keys do nothing
    expect(page.locator(".views [aria-current]")).to_contain_text(word)
    page.keyboard.press("s")
    page.wait_for_url("**sort=deadline**")
    page.goto(f"{bob.server.address}/?q={word}")
    page.wait_for_selector(LIVE)
    page.keyboard.press("j")
    opened(page, first)
    page.keyboard.press("h")
    page.keyboard.press("4")
    opened(page, second)
    expect(row(page, first)).to_have_count(0)
    # A reply of another person brings it back, behind the button.
    people("requester").post(f"/requests/{first}/comments/", text="Please look again.")
    page.get_by_role("button", name="Show 1 new request").click()
    row(page, first).wait_for()
    opened(page, second)
    page.keyboard.press("Control+k")
    page.keyboard.type("approve")
    page.keyboard.press("Enter")
    opened(page, first)
    assert [status(server, one) for one in (first, second)] == ["pending", "approved"]
    page.keyboard.press("Control+k")
    page.keyboard.type(word)
    page.locator(".palette [role=option]", has_text="Run issueRefund?").first.wait_for()
    page.keyboard.type(" nothing-like-this")
    page.get_by_text("No matches.").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type("workfl")
    page.keyboard.press("Enter")
    page.wait_for_url("**/workflows/")
    # The second key has to come soon.
    page.evaluate("{ const now = Date.now(); Date.now = () => now; }")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url(f"{bob.server.address}/")


def test_shortcuts_can_be_turned_off(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), f"/?q={word}")
    page.keyboard.press("?")
    page.get_by_label("Use keyboard shortcuts in this browser").uncheck()
    page.get_by_role("button", name="Close").click()
    for _ in range(2):
        for key in ("j", "/", "g", "w"):
            page.keyboard.press(key)
        assert (marked(page), page.url.endswith(f"?q={word}")) == ("", True)
        page.reload()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Use keyboard shortcuts in this browser").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("/")
    expect(page.locator("#filter-q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    assert marked(page) == request


def test_request_page_is_decided_by_keyboard(windows, people, server, asked):
    request = asked[1]()
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.keyboard.press("v")
    page.locator(".raw pre:focus").wait_for()
    page.keyboard.press("c")
    page.keyboard.type("a reason, not r")
    page.keyboard.press("Escape")
    assert status(server, request) == "pending"
    page.keyboard.press("r")
    page.locator(".outcome:focus").wait_for()
    expect(page.locator(".outcome blockquote")).to_have_text("a reason, not r")
    page.keyboard.press("a")
    announced(page, "There is nothing to decide here.")
    assert status(server, request) == "rejected"


def test_decision_elsewhere_changes_the_row_in_place_and_blocks_the_next_key(windows, people, server, asked):
    word, ask = asked
    first, second = ask(), ask()
    page = windows.open(people("admin"), f"/?q={word}")
    page.keyboard.press("j")
    opened(page, first)
    before = tops(page)
    people("approver").decide(first, verdict="reject", comment="A long story. " * 40)
    row(page, first).locator(".row-outcome", has_text="Rejected by approver").wait_for()
    card(page, first).locator(".outcome").wait_for()
    assert (tops(page), marked(page)) == (before, first)
    page.keyboard.press("x")
    announced(page, "This request has just changed. Look at it, then press again.")
    page.keyboard.press("x")
    announced(page, "This request cannot be selected.")
    page.keyboard.press("j")
    opened(page, second)
    assert status(server, second) == "pending"


def test_new_requests_wait_behind_a_button(windows, people, asked):
    word, ask = asked
    first = ask()
    page = windows.open(people("approver"), f"/?q={word}")
    page.keyboard.press("j")
    opened(page, first)
    before = tops(page)
    second = ask()
    page.get_by_role("button", name="Show 1 new request").wait_for()
    third = ask()
    show = page.get_by_role("button", name="Show 2 new requests")
    show.wait_for()
    expect(page.locator("#inbox-count")).to_have_text("3 waiting")
    assert (tops(page)[:1], marked(page), page.locator(".inbox-list > .inbox-row").count()) == (before, first, 1)
    show.click()
    expect(page.locator(".inbox-list > .inbox-row")).to_have_count(3)
    assert marked(page) == second
    # Requests that do not match the filters are not announced, and one that is decided before it was shown is dropped.
    people("requester").pause("Please refund order elsewhere, 500 euros")
    fourth = ask()
    show = page.get_by_role("button", name="Show 1 new request")
    show.wait_for()
    people("admin").decide(fourth, verdict="reject")
    show.wait_for(state="hidden")
    people("approver").decide(third, verdict="reject")
    row(page, third).locator(".row-outcome", has_text="approver").wait_for()
    # A grouped list shows them under a heading of their own.
    page.goto(f"{people('approver').server.address}/?q={word}&group=tool")
    page.wait_for_selector(LIVE)
    expect(page.locator("#section-new")).to_be_hidden()
    fifth = ask()
    page.get_by_role("button", name="Show 1 new request").click()
    expect(page.get_by_role("heading", name="New", exact=True)).to_be_visible()
    expect(page.locator("#list-new > .inbox-row")).to_have_id(f"row-{fifth}")
