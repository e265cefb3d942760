"""People on duty, by attendees or by the summary, and the lifetime of a calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from approvals.policy.duty.calendars import Shift
from approvals.policy.duty.on_call import MAX_NAME, duty_of, is_stale, on_duty

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MEMBERS = {1: ("bob", "Bob@example.org"), 2: ("erin", ""), 3: ("bob2", "bob@example.org")}


def shift(*attendees: str, summary: str = "", begin: datetime = NOON, end: datetime = NOON + HOUR) -> Shift:
    return Shift(begin, end, attendees, summary)


@pytest.mark.parametrize(
    ("each", "people"),
    [
        (shift("bob@example.org"), [1, 3]),
        (shift("bob@example.org", summary="erin"), [1, 3]),
        (shift(summary="ERIN"), [2]),
        (shift(summary="erin, bob ; mallory"), [2, 1, None]),
        (shift(summary="On call: erin"), [None]),
        (shift("mallory@example.org"), [None]),
        (shift(), []),
    ],
)
def test_attendees_are_known_by_address_and_without_any_the_summary_names_people(each, people):
    assert [stored["person"] for stored in duty_of([each], MEMBERS)] == people


def test_a_shift_counts_from_its_begin_until_its_end():
    stored = duty_of([shift(summary="erin, mallory")], MEMBERS)
    moments = [NOON - timedelta(seconds=1), NOON, NOON + HOUR - timedelta(seconds=1), NOON + HOUR]
    assert [on_duty(stored, moment) for moment in moments] == [set(), {2}, {2}, set()]


def test_a_shift_is_stored_with_its_times_and_the_name_of_each_person_as_far_as_there_is_room():
    times = {"from": "2027-03-01T12:00:00.000000Z", "until": "2027-03-01T13:00:00.000000Z"}
    name = "x" * MAX_NAME
    assert (MAX_NAME, duty_of([shift(f"{name}y", "Bob@Example.org")], {7: ("bob@example.org", "")})) == (
        254,
        [{"person": None, "name": name, **times}, {"person": 7, "name": "Bob@Example.org", **times}],
    )


def test_a_calendar_is_stale_after_a_day_and_what_a_program_set_is_not():
    assert [is_stale("https://x", NOON - HOUR * hours, NOON) for hours in (1, 24, 25)] == [False, False, True]
    assert (is_stale("https://x", None, NOON), is_stale("", NOON - HOUR * 99, NOON)) == (True, False)
