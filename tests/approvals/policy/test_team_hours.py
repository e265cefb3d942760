"""Working time goes by only within the working hours of a team, in its own time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.working_hours import DAY, LONGEST, Hours, moment_after, parse_week

BERLIN, AUCKLAND = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Auckland")
OFFICE = Hours(parse_week("Mon-Fri 09:00-17:00"), BERLIN)
NIGHTS = Hours(parse_week("Sun 00:00-06:00"), BERLIN)
HOUR, MINUTE = 3600, timedelta(minutes=1)

#: Times of the day that no change of the clock touches, in minutes.
minutes = st.integers(4 * 4, 24 * 4).map(lambda quarter: quarter * 15)
shifts = st.tuples(minutes, minutes).filter(lambda pair: pair[0] < pair[1])
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland", "Asia/Kathmandu"]).map(
    ZoneInfo
)
weeks = st.lists(st.none() | shifts, min_size=7, max_size=7).filter(any).map(tuple)
hours = st.builds(Hours, weeks, zones)
#: Around the days on which the clocks of the north and of the south change.
starts = st.sampled_from(["2027-03-13", "2027-03-27", "2027-04-03", "2027-09-25", "2027-10-30", "2027-11-06"]).flatmap(
    lambda day: st.integers(0, 3 * DAY).map(
        lambda minute: datetime.fromisoformat(day).replace(tzinfo=UTC) + minute * MINUTE
    )
)


def works(team: Hours, at: datetime) -> bool:
    """Whether a team works in the minute that begins then, by the clock on its wall."""
    wall = at.astimezone(team.zone)
    shift = team.week[wall.weekday()]
    return shift is not None and shift[0] <= wall.hour * 60 + wall.minute < shift[1]


@given(starts, st.integers(1, 20 * 60), st.lists(hours, min_size=1, max_size=3))
def test_it_is_the_end_of_as_many_minutes_in_which_any_of_the_teams_works(start, number, teams):
    at, left = start, number
    while left:
        left -= any(works(team, at) for team in teams)
        at += MINUTE
    assert moment_after(start, number * 60, teams) == at


@given(starts, st.integers(0, 10**6), st.integers(0, 10**6), hours)
def test_more_time_never_ends_earlier_and_never_before_all_of_it_has_gone_by(start, less, more, team):
    first, second = sorted([less, more])
    moments = [moment_after(start, seconds, [team]) for seconds in (first, second)]
    assert moments == sorted(moments)
    assert moments[0] >= start + timedelta(seconds=first)


@pytest.mark.parametrize(
    ("asked", "seconds", "due"),
    [
        ("2027-01-06 10:00", 2 * HOUR, "2027-01-06 12:00"),
        ("2027-01-06 16:00", 2 * HOUR, "2027-01-07 10:00"),
        ("2027-01-08 16:30", HOUR, "2027-01-11 09:30"),
        ("2027-01-09 12:00", 0, "2027-01-11 09:00"),
        # The last minute of a day belongs to it.
        ("2027-01-06 09:00", 8 * HOUR, "2027-01-06 17:00"),
        # Over the weekends on which the clock is put forward and back.
        ("2027-03-26 16:00", 2 * HOUR, "2027-03-29 10:00"),
        ("2027-10-29 16:00", 2 * HOUR, "2027-11-01 10:00"),
    ],
)
def test_office_hours_are_those_of_the_wall_on_both_sides_of_a_change_of_the_clock(asked, seconds, due):
    start, end = (datetime.fromisoformat(text).replace(tzinfo=BERLIN) for text in (asked, due))
    assert moment_after(start.astimezone(UTC), seconds, [OFFICE]) == end.astimezone(UTC)


@pytest.mark.parametrize(("day", "worked"), [("2027-03-28", 5), ("2027-10-31", 7), ("2027-06-06", 6)])
def test_a_night_shift_has_an_hour_less_or_more_when_the_clock_changes(day, worked):
    midnight = datetime.fromisoformat(day).replace(tzinfo=BERLIN).astimezone(UTC)
    assert moment_after(midnight, worked * HOUR, [NIGHTS]) == midnight + timedelta(hours=worked)
    assert moment_after(midnight, worked * HOUR + 60, [NIGHTS]) > midnight + timedelta(days=6)


def test_a_shift_that_the_change_of_the_clock_skips_does_not_exist():
    gone = Hours(parse_week("Sun 02:00-03:00"), BERLIN)
    before = datetime(2027, 3, 27, 12, tzinfo=UTC)
    assert moment_after(before, 60, [gone]) == datetime(2027, 4, 4, 0, 1, tzinfo=UTC)


def test_teams_around_the_world_work_in_turns():
    south = Hours(parse_week("Mon-Fri 09:00-17:00"), AUCKLAND)
    start = datetime(2027, 6, 7, 14, 30, tzinfo=UTC)
    # Half an hour in Berlin until 15:00, the rest in Auckland from 21:00.
    assert moment_after(start, HOUR, [OFFICE, south]) == datetime(2027, 6, 7, 21, 30, tzinfo=UTC)


def test_without_working_hours_all_time_counts():
    start = datetime(2027, 1, 9, tzinfo=UTC)
    assert moment_after(start, HOUR, []) == start + timedelta(hours=1)
    assert moment_after(start, HOUR, [Hours((None,) * 7, UTC)]) == start + timedelta(hours=1)


def test_a_moment_is_never_further_away_than_ten_years():
    start = datetime(2027, 1, 9, tzinfo=UTC)
    assert moment_after(start, 10**9, [Hours(parse_week("Mon 09:00-09:01"), UTC)]) == start + LONGEST


@pytest.mark.parametrize(("number", "day"), [*enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))])
def test_each_day_has_hours_of_its_own(number, day):
    hours = [(9 * 60, 10 * 60) if each == number else None for each in range(7)]
    assert parse_week(f"{day} 09:00-10:00") == tuple(hours)


def test_a_week_is_written_in_parts():
    office, short = (9 * 60, 17 * 60), (9 * 60, 15 * 60 + 30)
    assert parse_week("Mon-Thu 09:00-17:00, Fri 09:00-15:30") == (office, office, office, office, short, None, None)
    assert parse_week("Sat 00:00-24:00") == (None,) * 5 + ((0, DAY), None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9-5", "“9-5” is not like “Mon-Fri 09:00-17:00”."),
        ("x" * 41, f"“{'x' * 40}” is not like “Mon-Fri 09:00-17:00”."),
        ("", "“” is not like “Mon-Fri 09:00-17:00”."),
        ("Mon-Xyz 09:00-17:00", "“Mon-Xyz 09:00-17:00” is not like “Mon-Fri 09:00-17:00”."),
        ("Xyz-Mon 09:00-17:00", "“Xyz-Mon 09:00-17:00” is not like “Mon-Fri 09:00-17:00”."),
        ("Fri-Mon 09:00-17:00", "“Fri-Mon 09:00-17:00” is not like “Mon-Fri 09:00-17:00”."),
        ("Mon 09:00-09:00", "“Mon 09:00-09:00” must end after it starts, on the same day."),
        ("Mon 17:00-09:00", "“Mon 17:00-09:00” must end after it starts, on the same day."),
        ("Mon 09:00-24:01", "“Mon 09:00-24:01” must end after it starts, on the same day."),
        ("Mon 09:60-12:00", "“Mon 09:60-12:00” must end after it starts, on the same day."),
        ("Mon 09:00-12:60", "“Mon 09:00-12:60” must end after it starts, on the same day."),
        ("Mon 09:70-12:00", "“Mon 09:70-12:00” must end after it starts, on the same day."),
        ("Mon-Fri 09:00-12:00, Wed 13:00-17:00", "Wed has hours twice. Write each day once."),
        ("Mon ٠٩:00-12:00", "“Mon ٠٩:00-12:00” is not like “Mon-Fri 09:00-17:00”."),
    ],
)
def test_what_is_no_week_is_refused_in_words(text, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        parse_week(text)
