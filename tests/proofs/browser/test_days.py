"""Relative times count calendar days in the person's time zone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

SHOWN = """([kind, moment]) => {
    const time = document.createElement("time");
    time.dateTime = moment;
    time.dataset[kind] = "";
    time.id = "moment";
    document.querySelector("main").append(time);
}"""


@pytest.mark.parametrize(
    ("zone", "now", "kind", "moment", "words"),
    [
        ("Europe/Berlin", "2026-11-22T10:00:00Z", "in", "2026-11-24T09:00:00Z", "in 2 days"),
        ("Europe/Berlin", "2026-11-22T10:00:00Z", "in", "2026-11-23T22:59:00Z", "tomorrow"),
        ("Europe/Berlin", "2026-11-22T10:00:00Z", "in", "2026-11-23T23:00:00Z", "in 2 days"),
        ("UTC", "2026-11-22T10:00:00Z", "in", "2026-11-23T23:00:00Z", "tomorrow"),
        ("Pacific/Auckland", "2026-11-22T10:00:00Z", "in", "2026-11-23T11:00:00Z", "in 2 days"),
        ("UTC", "2026-11-22T10:00:00Z", "in", "2026-11-23T09:00:00Z", "in 23 hours"),
        ("America/New_York", "2026-11-22T10:00:00Z", "ago", "2026-11-21T04:30:00Z", "2 days ago"),
        ("UTC", "2026-11-22T10:00:00Z", "ago", "2026-11-21T04:30:00Z", "yesterday"),
        # A day of 25 hours.
        ("America/New_York", "2026-11-01T04:10:00Z", "in", "2026-11-02T04:10:00Z", "today"),
    ],
)
def test_days_are_counted_by_the_calendar(windows, people, zone, now, kind, moment, words):
    page = windows.open(people("approver"), "/insights/", timezone_id=zone)
    page.clock.set_fixed_time(now)
    page.evaluate(SHOWN, [kind, moment])
    page.locator("#moment:not(:empty)").wait_for()
    assert page.locator("#moment").inner_text() == words
