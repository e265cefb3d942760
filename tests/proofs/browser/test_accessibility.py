"""Accessibility: reduced motion, visible focus, announcements, and a screen reader's text, in its order."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.test_inbox import announced
from tests.proofs.browser.test_looks import FOCUSED
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

orders = itertools.count(700)
#: Elements, including `::before` and `::after`, that move or would.
MOVING = """() => [...document.querySelectorAll('*')].flatMap(one => ['', '::before', '::after']
    .map(part => getComputedStyle(one, part))
    .filter(style => style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0)
    .map(() => one.tagName))"""
PROBES = """() => { for (const name of ['arrived', 'spinner'])
    document.querySelector('main').append(Object.assign(document.createElement('p'), { className: name })); }"""


@pytest.fixture
def waits(people):
    """Ask for a refund; return the request's id and order."""
    order = next(orders)
    return people("requester").pause(f"Please refund order {order}, 500 euros")[1], str(order)


@pytest.mark.parametrize(("wanted", "moves"), [("reduce", False), ("no-preference", True)])
def test_reduced_motion_is_respected(windows, people, waits, wanted, moves):
    page = windows.open(people("requester"), "/", reduced_motion=wanted)
    page.evaluate(PROBES)
    assert bool(page.evaluate(MOVING)) == moves


def test_focus_is_visible_on_the_whole_request_page(windows, people, waits):
    page = windows.open(people("approver"), f"/requests/{waits[0]}/", reduced_motion="reduce")
    seen = []
    page.keyboard.press("Tab")
    while (found := page.evaluate(FOCUSED)) and found not in seen[:1]:
        seen.append(found)
        page.keyboard.press("Tab")
    assert [one["name"] for one in seen if not (one["outline"] and one["seen"])] == []
    words = " ".join(one["name"] for one in seen)
    assert all(name in words for name in ("BUTTON verdict", "SUMMARY", "TEXTAREA comment"))


def test_new_and_decided_requests_are_announced(windows, people, waits):
    page = windows.open(people("approver"), "/")
    region = page.locator("#announcements")
    expect(region).to_have_attribute("role", "status")
    expect(region).to_have_attribute("aria-live", "polite")
    order = next(orders)
    _, request = people("requester").pause(f"Please refund order {order}, 500 euros")
    announced(page, "1 new request")
    people("approver").decide(request, verdict="approve")
    announced(page, ": Approved")


ROW = """\
- listitem:
  - 'checkbox "Select: Ship order 1?"'
  - text: Approval
  - link "Ship order 1?"
  - text: High order 1
  - time
  - text: requested by requester"""
DETAIL = """\
- article:
  - heading "Run shipOrder?" [level=1]:
    - text: Run
    - code: shipOrder
    - text: "?"
  - paragraph: "Title from the agent: Ship order 1?"
  - text: requested by requester
  - link "Shipping"
  - text: High requested
  - time
  - paragraph: Unassigned
  - button "Assign to me"
  - table "Input":
    - caption: Input
    - rowgroup:
      - row "order 1":
        - rowheader "order"
        - cell "1"
  - group: Raw JSON
  - tablist "About this request":
    - tab "Notes"
    - tab "Details"
  - button "Cancel request"
  - text: Message to the agent
  - textbox "Message to the agent"
  - term: order
  - definition: "1"
  - button "Approve"
  - link "Approve for…"
  - button "Reject"
  - link "Edit…\""""
BAR = """\
- form "Decide the selected requests":
  - status: 1 selected
  - text: Message to the agent, for all of them
  - textbox "Message to the agent, for all of them":
    - /placeholder: Message to the agent, for all of them (optional)
  - button "Approve…"
  - button "Reject…\""""
TURN = """\
- status:
  - paragraph:
    - text: Suspended Waiting for 1 decision. Nothing runs until then.
    - link "A customer wants to cancel after the parcel was sent. What should I tell them?"
  - button "Stop\""""
COMPOSER = """\
- text: Message
- textbox "Message":
  - /placeholder: Write a message
- paragraph: Your message answers “A customer wants to cancel after the parcel was sent. What should I tell them?”.
- button "Answer"
- button "Stop and send"
- group: Add images or PDFs"""


def read(part) -> str:
    """Return a part of a page as Chromium gives it to a screen reader, without addresses and times."""
    heard = part.aria_snapshot()
    lines = [line for line in heard.splitlines() if "- /url: " not in line]
    timeless = [re.sub("- time: .*", "- time", line) for line in lines]
    return "\n".join(line.removesuffix(":") if "- link " in line else line for line in timeless)


def reads(part, words: str) -> None:
    """Wait until a part of a page is read like this."""
    until(lambda: read(part) == words, f"a screen reader reads\n{words}")


def test_a_screen_reader_reads_a_request_and_says_its_decision_once(windows, people, server):
    agent = Remote(server, "requester", ("ask", "read"))
    for order in (1, 2):
        shipped = {"tool_name": "shipOrder", "input": {"order": order}, "workflow_title": "Shipping"}
        agent.ask(title=f"Ship order {order}?", priority="high", **shipped)
    page = windows.open(people("approver"), "/?tool=shipOrder")
    row = page.locator(".inbox-row").first
    reads(row, ROW)
    page.keyboard.press("j")
    expect(row.locator(".row-title")).to_have_attribute("aria-current", "true")
    reads(page.locator("#request-detail"), DETAIL)
    page.keyboard.press("x")
    reads(page.locator("#bulk"), BAR)
    page.keyboard.press("x")
    page.keyboard.press("a")
    page.wait_for_function("() => window.announcements.some(words => words.includes('Ship order 1?'))")
    # A page may also announce decisions from an earlier test, made while it opened.
    told = [words for words in page.evaluate("window.announcements") if "Ship order" in words]
    assert told == ["Ship order 1?: Approved by approver"]

    alice = people("requester")
    chat, _ = alice.pause("ask human")
    page = windows.open(alice, f"/chats/{chat}/")
    reads(page.locator("#turn"), TURN)
    reads(page.locator("#composer"), COMPOSER)
