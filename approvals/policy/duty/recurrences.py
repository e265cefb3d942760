"""Recurrences of the events of an iCalendar file (RFC 5545), in wall-clock time, which its rules count in; pure."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from dateutil.rrule import rruleset, rrulestr


def recurrences_of(
    event: Any, first: datetime, local: tzinfo, zone: tzinfo
) -> rruleset:
    """Return all starts of an event. Raise ValueError if a rule cannot be read."""
    recurrences = rruleset()
    recurrences.rdate(first)
    for rule in listed(event.get("RRULE")):
        for each in _with_days_of_one_kind(rule):
            text = _with_local_end(each, local)
            recurrences.rrule(rrulestr(text, dtstart=first))
    for name, add in (("RDATE", recurrences.rdate), ("EXDATE", recurrences.exdate)):
        for dates in listed(event.get(name)):
            for each in dates.dts:
                value = each.dt[0] if isinstance(each.dt, tuple) else each.dt
                if isinstance(value, datetime):
                    add(aware(value, zone).astimezone(local).replace(tzinfo=None))
                else:
                    add(datetime.combine(value, first.time()))
    return recurrences


def lengths_of(event: Any, local: tzinfo, zone: tzinfo) -> dict[datetime, timedelta]:
    """Return the lengths of occurrences that have one of their own, by their wall-clock start."""
    periods: dict[datetime, timedelta] = {}
    for dates in listed(event.get("RDATE")):
        for each in dates.dts:
            if not isinstance(each.dt, tuple):
                continue
            begin, until = each.dt
            wall = aware(begin, zone).astimezone(local).replace(tzinfo=None)
            if not isinstance(until, timedelta):
                until = aware(until, zone).astimezone(local).replace(tzinfo=None) - wall
            periods[wall] = until
    return periods


def _with_days_of_one_kind(rule: Any) -> list[Any]:
    """Return a rule for the days with a number (1MO), and one for those without: for both at once, dateutil finds no days.

    Seen with dateutil 2.9.0 and 4.0.0 (findings/dateutil-never-finds-mixed-days.sh). Raise ValueError if the rule also counts.
    """
    days = [str(day) for day in listed(rule.get("BYDAY"))]
    numbered = [day for day in days if len(day) > len("MO")]
    plain = [day for day in days if day not in numbered]
    if not numbered or not plain:
        return [rule]
    if "COUNT" in rule or "BYSETPOS" in rule:
        raise ValueError("a rule that counts days with and without a number")
    return [type(rule)({**rule, "BYDAY": each}) for each in (numbered, plain)]


def _with_local_end(rule: Any, local: tzinfo) -> str:
    """Return a recurrence rule with its end in wall-clock time, like the occurrences that it generates."""
    copy = type(rule)(rule)
    if "UNTIL" in copy:
        until = listed(copy["UNTIL"])[0]
        if not isinstance(until, datetime):
            until = datetime.combine(until, time.max)
        copy["UNTIL"] = [
            until.astimezone(local).replace(tzinfo=None) if until.tzinfo else until
        ]
    text: bytes = copy.to_ical()
    return text.decode()


def aware(value: date | datetime, zone: tzinfo) -> datetime:
    """Return a moment; a day begins at midnight in the zone, and a time without a zone is in it."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time(), zone)
    return value if value.tzinfo else value.replace(tzinfo=zone)


def listed(value: Any) -> list[Any]:
    """Return the values of a property, of which there may be none, one or a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
