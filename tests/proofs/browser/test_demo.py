"""The log-in page of a demo: one click logs a person in, and the first request is open."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1280])
def test_one_click_logs_in_and_the_first_request_is_open(windows, people, server, width):
    people("requester").pause("Please refund order 4711, 250 euros")
    page = windows.stranger(server, viewport={"width": width, "height": 800})
    page.get_by_role("button", name="approver", exact=True).click()
    page.locator("#request-detail .request.is-pending").wait_for()
    first = page.locator(".inbox-list > .inbox-row").first.get_attribute("id")
    expect(page).to_have_url(f"{server.address}/#{first.removeprefix('row-')}")


def test_a_desk_without_a_request_opens_none(windows, people):
    page = windows.open(people("approver"), "/?q=nothing-like-this#first")
    expect(page.locator("#request-detail")).to_have_count(0)
