"""Events of a calendar that cannot be read, and bounds of those that can."""

from __future__ import annotations

import pytest

from approvals.policy.duty.calendars import MAX_BEGIN, MAX_SUMMARY, LeftOut, duty_calendar_in
from tests.approvals.policy.duty.test_calendars import BERLIN, at, calendar, shifts


def test_an_event_without_a_start_is_left_out():
    assert shifts(calendar("UID:1\nSUMMARY:bob"), "2027-03-01", "2027-03-02") == []


DUTY = "UID:2\nDTSTART:20261201T080000Z\nDTEND:20261202T080000Z\nATTENDEE:mailto:bob@example.com\nSUMMARY:Duty"


@pytest.mark.parametrize(
    ("lines", "begin", "fault"),
    [
        ("DTSTART:20261201T080000Z\nRRULE:FREQ=SOMETIMES", "20261201T080000Z", "RRULE"),
        ("DTSTART:20261201T080000Z\nRRULE:RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=FORWARD", "20261201T080000Z", "RRULE"),
        ("DTSTART:20261201T080000Z\nRRULE:FREQ=DAILY;BYDAY=XX", "20261201T080000Z", "RRULE"),
        ("DTSTART:20261201T080000Z\nRDATE:never", "20261201T080000Z", "RDATE"),
        ("DTSTART:20261201T080000Z\nRRULE:FREQ=DAILY\nEXDATE:never", "20261201T080000Z", "EXDATE"),
        ("DTSTART:20261201T080000Z\nDTEND:later", "20261201T080000Z", "DTEND"),
        ("DTSTART:20261201T080000Z\nDURATION:long", "20261201T080000Z", "DURATION"),
        ("DTSTART:20261201T080000Z\nRECURRENCE-ID:first", "20261201T080000Z", "RECURRENCE-ID"),
        ("DTSTART:20261201T080000Z\nDURATION:P3650000D", "20261201T080000Z", ""),
        ("DTSTART:20261201T080000Z\nRDATE;VALUE=PERIOD:20261202T080000Z/P3650000D", "20261201T080000Z", ""),
        ("DTSTART:99991201T080000Z\nDURATION:P300D", "99991201T080000Z", ""),
        ("DTSTART:tomorrow", "tomorrow", "DTSTART"),
        ("DTEND:20261201T090000Z", "", "DTSTART"),
        ("DTSTART:20261201T080000Z\nDTEND;VALUE=PERIOD:20261201T080000Z/PT1H", "20261201T080000Z", ""),
    ],
)
def test_an_event_that_cannot_be_read_is_left_out_and_named_and_the_others_count(lines, begin, fault):
    for events in ((f"UID:1\n{lines}\nSUMMARY:Lunch", DUTY), (DUTY, f"UID:1\n{lines}\nSUMMARY:Lunch")):
        read = duty_calendar_in(calendar(*events), at("2026-12-01"), at("2026-12-02"), BERLIN)
        assert read.left_out == [LeftOut("Lunch", begin, fault)]
        assert [(each.summary, each.attendees) for each in read.shifts] == [("Duty", ("bob@example.com",))]


def test_a_calendar_that_can_be_read_leaves_nothing_out():
    weekly = "UID:1\nDTSTART;TZID=Europe/Berlin:20261201T090000\nDURATION:PT8H\nRRULE:FREQ=WEEKLY\nSUMMARY:bob"
    assert duty_calendar_in(calendar(weekly, DUTY), at("2026-12-01"), at("2026-12-09"), BERLIN).left_out == []


def test_properties_that_say_nothing_of_times_may_be_unreadable():
    text = calendar(f"{DUTY}\nCREATED:never\nGEO:nowhere")
    read = duty_calendar_in(text, at("2026-12-01"), at("2026-12-09"), BERLIN)
    assert ([shift.summary for shift in read.shifts], read.left_out) == (["Duty"], [])


def test_summaries_starts_and_the_number_of_shifts_have_bounds():
    long = f"SUMMARY:{'y' * (MAX_SUMMARY + 1)}"
    events = ["UID:1\nDTSTART:never", f"UID:2\nDTSTART:{'x' * (MAX_BEGIN + 1)}\n{long}"]
    events.append(f"UID:3\nDTSTART:20261201T000000Z\nDURATION:PT1M\nRRULE:FREQ=MINUTELY\n{long}")
    read = duty_calendar_in(calendar(*events), at("2026-12-01"), at("2026-12-02"), BERLIN)
    assert read.left_out == [LeftOut("", "never", "DTSTART"), LeftOut("y" * 500, "x" * 40, "DTSTART")]
    assert (len(read.shifts), {shift.summary for shift in read.shifts}) == (500, {"y" * 500})
