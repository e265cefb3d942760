"""The page of a bulk decision: the parts in view, requests left out until seen, and the record."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import LIVE, violations
from tests.proofs.browser.test_deliberate_decisions import RESTED, UNSEEN
from tests.proofs.browser.test_inbox import FLOWING, FROZEN, status
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

SIZES = {"wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
LINES = "It leaves our house on Monday. " * 40
numbers = itertools.count(1)
#: The number of included requests that were fully in view.
SEEN = "() => document.querySelectorAll('.bulk-line:not(.is-left-out, :has([data-view]:not([data-viewed])))').length"
#: Scrollable parts within the page, of which the seen share is unknown.
BOXES = """() => [...document.querySelectorAll('.bulk-page *')].filter(one =>
  (one.scrollHeight > one.clientHeight + 2 && ['auto', 'scroll'].includes(getComputedStyle(one).overflowY))
  || (one.scrollWidth > one.clientWidth + 2 && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))).length"""


@pytest.fixture
def remote(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture
def refunds(remote):
    """Return the tool and the ids of 25 refunds that are all called the same: one is large, and one in another currency."""
    tool, amounts = f"refund{next(numbers)}", [60 + number for number in range(25)]
    amounts[17] = 50_000
    return tool, [
        remote.ask(
            title="Refund 7 EUR",
            tool_name=tool,
            input={"amount": amount, "currency": "JPY" if number == 5 else "EUR", "to": f"person{number}@example.com"},
            context={"ticket": number},
        )["id"]
        for number, amount in enumerate(amounts)
    ]


def mails(remote, number: int) -> tuple[str, list[str]]:
    tool = f"mail{next(numbers)}"
    bodies = ["\n\n".join(f"Dear {person}, part {part}. {LINES}" for part in range(3)) for person in range(number)]
    return tool, [remote.ask(title="Write", tool_name=tool, input={"body": body})["id"] for body in bodies]


def reviewed(page, address: str, tool: str) -> None:
    """Select all requests for a tool and go to the page that decides them, with the keyboard alone."""
    page.goto(f"{address}/?tool={tool}")
    page.wait_for_selector(LIVE)
    page.locator("#bulk-all").check()
    page.locator("#bulk button[value=approve]").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.wait_for_load_state()


#: Two frames after the page has come to rest, its scripts have looked at what is in view.
LOOKED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def unseen(server, request: str):
    return json.loads(server.value(UNSEEN, request.replace("-", "")))["data"].get("unseen")


def picture(page, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=Path(folder) / f"{name}-{scheme}.png")


def read_on(page, most: int = 80) -> None:
    """Press a, each time the page has rested, until it leads to the button."""
    for _ in range(most):
        page.evaluate(RESTED)
        page.keyboard.press("a")
        if page.locator(".bulk-decide > button:focus").count():
            return
    raise AssertionError("a never led to the button")


@pytest.mark.parametrize("size", SIZES)
def test_two_enters_decide_nothing_and_one_key_goes_through_all_of_it(windows, people, server, refunds, size, axe):
    tool, requests = refunds
    page = windows.open(people("approver"), viewport=SIZES[size], reduced_motion="reduce")
    reviewed(page, server.address, tool)
    page.locator("h1:focus").wait_for()
    page.keyboard.press("Enter")
    assert (page.evaluate("scrollY"), page.locator("h1:focus").count()) == (0, 1)
    assert {status(server, one) for one in requests} == {"pending"}
    button = page.locator(".bulk-decide > button")
    until(
        lambda: button.inner_text() == f"Approve 23 requests, {page.evaluate(SEEN)} seen",
        "the number of those seen",
    )
    assert page.evaluate(SEEN) < 23
    left_out = page.locator(".bulk-line.is-left-out")
    expect(left_out).to_have_count(2)
    expect(left_out.nth(0)).to_contain_text("another currency: JPY, where most have EUR")
    expect(left_out.nth(1)).to_contain_text("amount is 50,000, far from the others")
    expect(page.locator(".bulk-sums")).to_contain_text("Sum of amount in EUR")
    picture(page, f"bulk-{size}")
    assert violations(page, axe) == {}

    # Within a second after the page has moved, the key does nothing.
    page.evaluate(FROZEN)
    page.keyboard.press("a")
    page.wait_for_function("() => scrollY > 0")
    there = page.evaluate("scrollY")
    page.keyboard.press("a")
    assert page.evaluate("scrollY") == there
    page.evaluate(FLOWING)
    read_on(page)
    expect(button).to_have_text("Approve 23 requests, 23 seen")
    assert {status(server, one) for one in requests} == {"pending"}
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("23 requests approved")
    assert {status(server, requests[number]) for number in (5, 17)} == {"pending"}
    decided = [one for number, one in enumerate(requests) if number not in (5, 17)]
    assert {unseen(server, one) for one in decided} == {None}


def test_what_was_not_in_view_is_asked_about_once_and_recorded(windows, people, server, refunds, axe):
    windows.tolerate(" 422 ")
    tool, requests = refunds
    page = windows.open(people("approver"), viewport=SIZES["wide"], reduced_motion="reduce")
    reviewed(page, server.address, tool)
    large = page.locator(".bulk-line", has_text="50,000")
    large.get_by_role("checkbox").check()
    button = page.locator(".bulk-decide > button")
    with page.expect_navigation():
        button.click()
    page.locator(".refusal:focus", has_text="You haven't seen").wait_for()
    page.wait_for_load_state()
    assert {status(server, one) for one in requests} == {"pending"}
    picture(page, "bulk-refused")
    assert violations(page, axe) == {}
    # Earlier choices and seen parts are kept.
    assert page.locator(".bulk-line", has_text="50,000").get_by_role("checkbox").is_checked()
    assert not page.locator(".bulk-line", has_text="JPY").get_by_role("checkbox").is_checked()
    expect(button).to_contain_text("Approve 24 requests, ")
    page.evaluate(LOOKED)
    seen = int(button.inner_text().split()[3])
    with page.expect_navigation():
        button.click()
    page.get_by_role("heading", name="24 requests approved").wait_for()
    found = [unseen(server, one) for number, one in enumerate(requests) if number != 5]
    assert (seen > 0, sum(one is None for one in found)) == (True, seen)
    assert {one["values"] for one in found if one is not None} <= set(range(1, 5))


@pytest.mark.parametrize("size", SIZES)
def test_long_texts_are_read_in_full_on_the_page(windows, people, server, remote, size):
    windows.tolerate(" 422 ")
    tool, requests = mails(remote, 3)
    page = windows.open(people("approver"), viewport=SIZES[size], reduced_motion="reduce")
    reviewed(page, server.address, tool)
    picture(page, f"bulk-mails-{size}")
    assert (page.evaluate(BOXES), page.evaluate("document.documentElement.scrollWidth - innerWidth")) == (0, 0)
    button = page.locator(".bulk-decide > button")
    # No mail was seen whole.
    expect(button).to_have_text("Approve 3 requests, 0 seen")
    read_on(page)
    expect(button).to_have_text("Approve 3 requests, 3 seen")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert [unseen(server, one) for one in requests] == [None] * 3


def test_without_javascript_all_of_it_is_recorded_as_unseen_and_the_page_says_so(windows, people, server, remote):
    tool, requests = mails(remote, 2)
    page = windows.open(people("approver"), f"/?tool={tool}", java_script_enabled=False)
    for box in page.locator("[name=pick]").all():
        box.check()
    page.locator("#bulk button[value=approve]").click()
    expect(page.locator(".bulk-unwatched")).to_contain_text(
        "The audit log will show everything that you approve here as unseen"
    )
    # The words are there before the stylesheet is.
    page.locator(".by-key").wait_for(state="hidden")
    page.get_by_role("button", name="Approve 2 requests").click()
    page.get_by_role("heading", name="2 requests approved").wait_for()
    assert [unseen(server, one)["parts"] for one in requests] == [1, 1]
