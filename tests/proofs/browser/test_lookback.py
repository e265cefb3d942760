"""A live timeline, the comparison of two checkpoints, a branch that is answered and continued, and how long ago things were."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.test_story import wait_for_state
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

SHOWN = """([kind, moment]) => {
    const time = document.createElement("time");
    time.dateTime = moment;
    time.dataset[kind] = "";
    time.id = "moment";
    document.querySelector("main").append(time);
}"""


#: How far below the first side the second one stands.
BELOW = """() => document.querySelector(".side-after").getBoundingClientRect().top
    - document.querySelector(".side-before").getBoundingClientRect().top"""


def path(page) -> str:
    return re.sub(r"^https?://[^/]+", "", page.url)


def test_a_person_compares_two_checkpoints_and_branches_from_the_first(windows, people, server):
    alice, bob = people("requester"), people("approver")
    chat, request = alice.pause("Please refund order 4321, 250 euros")
    page = windows.open(alice, f"/chats/{chat}/timeline/")
    expect(page.locator(".entry")).to_have_count(5)

    bob.decide(request, verdict="reject", comment="Not this one.")
    page.locator(".entry-checkpoint").nth(1).wait_for()
    expect(page.locator(".entry-decided p").nth(1)).to_contain_text("by approver via web")
    page.get_by_role("link", name="compare with the previous one").last.click()
    expect(page.locator(".pair-changed del").first).to_have_text("waiting for approval")
    expect(page.locator(".pair-changed ins").first).to_have_text("denied")
    page.get_by_role("link", name="Swap").click()
    expect(page.locator(".pair-changed ins").first).to_have_text("waiting for approval")
    page.wait_for_load_state()  # its styles are there
    page.set_viewport_size({"width": 360, "height": 740})
    until(lambda: page.evaluate(BELOW) > 0, "the second side stands below the first")
    page.set_viewport_size({"width": 1280, "height": 800})
    until(lambda: page.evaluate(BELOW) == 0, "the sides stand beside each other")

    page.locator(".sides a").last.click()
    page.get_by_role("button", name="Branch from this checkpoint").click()
    page.wait_for_url(re.compile(r"/chats/\d+/$"))
    made = int(path(page).strip("/").split("/")[-1])
    assert made != chat
    wait_for_state(page, "suspended")
    expect(page.locator(".request.is-pending")).to_contain_text("Asked again")
    window = windows.open(bob, f"/chats/{made}/")
    window.get_by_role("button", name="Approve", exact=True).click()
    wait_for_state(page, "completed")
    page.locator(".message.assistant", has_text="refunded").wait_for()
    page.locator(".branches a").first.click()
    expect(page).to_have_url(f"{server.address}/chats/{chat}/")
    expect(page.locator("details.branches a")).to_have_attribute("href", f"/chats/{made}/")
    assert server.turn(chat) == "completed"


DAYS = {
    "Europe/Berlin": [
        ("2026-11-22T10:00:00Z", "in", "2026-11-24T09:00:00Z", "in 2 days"),
        ("2026-11-22T10:00:00Z", "in", "2026-11-23T22:59:00Z", "tomorrow"),
        ("2026-11-22T10:00:00Z", "in", "2026-11-23T23:00:00Z", "in 2 days"),
    ],
    "UTC": [
        ("2026-11-22T10:00:00Z", "in", "2026-11-23T23:00:00Z", "tomorrow"),
        ("2026-11-22T10:00:00Z", "in", "2026-11-23T09:00:00Z", "in 23 hours"),
        ("2026-11-22T10:00:00Z", "ago", "2026-11-21T04:30:00Z", "yesterday"),
    ],
    "Pacific/Auckland": [("2026-11-22T10:00:00Z", "in", "2026-11-23T11:00:00Z", "in 2 days")],
    "America/New_York": [
        ("2026-11-22T10:00:00Z", "ago", "2026-11-21T04:30:00Z", "2 days ago"),
        # A day of 25 hours.
        ("2026-11-01T04:10:00Z", "in", "2026-11-02T04:10:00Z", "today"),
    ],
}


@pytest.mark.parametrize("zone", DAYS)
def test_days_are_counted_by_the_calendar(windows, people, zone):
    page = windows.open(people("approver"), "/insights/", timezone_id=zone)
    for now, kind, moment, words in DAYS[zone]:
        page.clock.set_fixed_time(now)
        page.evaluate(SHOWN, [kind, moment])
        expect(page.locator("#moment")).to_have_text(words)
        page.evaluate("() => document.getElementById('moment').remove()")
