"""Working hours of teams, and moments counted in working time; pure.

A week is written as in `HITL_WORKING_HOURS`, with any number of parts: `Mon-Thu 09:00-17:00, Fri 09:00-15:00`. Hours are in
wall-clock time: when clocks go forward, a night shift is an hour shorter. An ambiguous time is the first of the two.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import count

from django.utils.translation import gettext as _

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY = 24 * 60
#: A moment further away than this counts as never.
LONGEST = timedelta(days=10 * 366)

_PART = re.compile(
    r"([A-Z][a-z]{2})(?:-([A-Z][a-z]{2}))? (\d\d):(\d\d)-(\d\d):(\d\d)", re.ASCII
)

#: Working minutes of each day, from Monday on; None on a day off.
Week = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Hours:
    """The working hours of a team, and their time zone."""

    week: Week
    zone: tzinfo


def parse_week(text: str) -> Week:
    """Parse a week. Raise ValueError, with a message for people."""
    days: list[tuple[int, int] | None] = [None] * 7
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("", "")
        if (
            match is None
            or first not in DAYS
            or last not in DAYS
            or DAYS.index(first) > DAYS.index(last)
        ):
            raise ValueError(
                _("“%(part)s” is not like “Mon-Fri 09:00-17:00”.")
                % {"part": part.strip()[:40]}
            )
        begin, end = (int(match[at]) * 60 + int(match[at + 1]) for at in (3, 5))
        if not begin < end <= DAY or int(match[4]) >= 60 or int(match[6]) >= 60:
            raise ValueError(
                _("“%(part)s” must end after it starts, on the same day.")
                % {"part": part.strip()}
            )
        for day in range(DAYS.index(first), DAYS.index(last) + 1):
            if days[day] is not None:
                raise ValueError(
                    _("%(day)s has hours twice. Write each day once.")
                    % {"day": DAYS[day]}
                )
            days[day] = begin, end
    return tuple(days)


def moment_after(start: datetime, seconds: int, teams: Iterable[Hours]) -> datetime:
    """Return the moment after this many seconds of working time of any of these teams; of plain time without teams."""
    at = start
    left = timedelta(seconds=seconds)
    latest = start + LONGEST
    weeks = [_shifts(hours, start) for hours in teams if any(hours.week)]
    if not weeks:
        return start + left
    for begin, end in heapq.merge(*weeks):
        begin = max(begin, at)
        if begin > latest:
            break
        if begin + left <= end:
            return begin + left
        if begin < end:
            left = left - (end - begin)
            at = end
    return latest


def _shifts(hours: Hours, start: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the shifts that end after a moment, in UTC, in order."""
    # A shift of the day before may continue past midnight.
    first = start.astimezone(hours.zone).date() - timedelta(days=1)
    for number in count():
        day = first + timedelta(days=number)
        if shift := hours.week[day.weekday()]:
            begin, end = (_moment(day, minutes, hours.zone) for minutes in shift)
            if start < end and begin < end:
                yield begin, end


def _moment(day: date, minutes: int, zone: tzinfo) -> datetime:
    days, minutes = divmod(minutes, DAY)
    wall = datetime.combine(
        day + timedelta(days=days), time(*divmod(minutes, 60)), zone
    )
    return wall.astimezone(UTC)
