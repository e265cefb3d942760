"""Accessibility: reduced motion, visible focus, and announcements."""

from __future__ import annotations

import itertools

import pytest

from tests.proofs.browser.test_looks import FOCUSED

pytestmark = pytest.mark.browser

orders = itertools.count(700)
#: Elements, and what is drawn before and behind them, that move or would.
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
    assert (region.get_attribute("role"), region.get_attribute("aria-live")) == ("status", "polite")
    order = next(orders)
    _, request = people("requester").pause(f"Please refund order {order}, 500 euros")
    page.locator("#announcements", has_text="1 new request").wait_for(state="attached")
    people("approver").decide(request, verdict="approve")
    page.locator("#announcements", has_text=": Approved").wait_for(state="attached")
