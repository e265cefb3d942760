"""Read an on-call schedule from an iCalendar file (RFC 5545); pure, and run in its own process.

Calendars are untrusted: some recurrence rules take minutes to turn out empty. So `outbound.duty_calendars` runs this module
with a CPU limit: text in, JSON out. Of this project, it imports `recurrences` alone.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta, tzinfo
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from dateutil.rrule import rruleset

from approvals.policy.duty.recurrences import (
    aware,
    lengths_of,
    listed,
    recurrences_of,
)

#: CPU seconds allowed for a calendar.
CPU_SECONDS = 5
MEMORY = 1_000_000_000
MAX_EVENTS = 5_000
MAX_SHIFTS = 500
#: The longest shift, and the farthest move of an occurrence; longer ones are mistakes.
MAX_SPAN = timedelta(days=366)
#: Maximum length of a summary, and of an unreadable start.
MAX_SUMMARY = 500
MAX_BEGIN = 40
#: An event with an unreadable one of these would be misread.
_NEEDED = frozenset(
    {
        "DTSTART",
        "DTEND",
        "DURATION",
        "RRULE",
        "RDATE",
        "EXDATE",
        "RECURRENCE-ID",
        "STATUS",
        "ATTENDEE",
    }
)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Shift:
    """An on-call shift in UTC: the mail addresses of the attendees, and the summary of the event."""

    begin: datetime
    end: datetime
    attendees: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An unreadable event: its summary, its start as written in the calendar, and the unreadable property, if known."""

    summary: str
    begin: str
    fault: str


@dataclass(frozen=True, slots=True)
class DutyCalendar:
    """A parsed calendar: the shifts, and the events that were left out."""

    shifts: list[Shift]
    left_out: list[LeftOut]


def duty_calendar_in(
    text: bytes, begin: datetime, end: datetime, zone: tzinfo
) -> DutyCalendar:
    """Return the shifts between two moments, sorted by start. Raise ValueError if this is not a calendar.

    An unreadable event does not affect the others. Events without a time zone, and all-day events, are in `zone`. A recurring
    event keeps the wall-clock time of its end across clock changes, as calendar apps show it. A changed occurrence affects only
    itself, or itself and all later ones, as the calendar specifies.
    """
    from icalendar import Calendar  # noqa: PLC0415 - loaded late

    calendar = Calendar.from_ical(text)
    read = [
        _read(component, zone) for component in calendar.walk("VEVENT")[:MAX_EVENTS]
    ]
    events = _newest([each for each in read if isinstance(each, _Event)])
    left_out = [each for each in read if isinstance(each, LeftOut)]
    # An event with the id of an occurrence replaces it, or removes it if cancelled.
    replaced = {
        (event.uid, event.replaces) for event in events if event.replaces is not None
    }
    changes = _changes(events)
    shifts = set[Shift]()
    for event in events:
        is_whole = event.replaces is None
        if _is_cancelled(event.component):
            continue
        own = changes.get(event.uid, ()) if is_whole else ()
        for original, shown, first, last in _occurrences(event, begin, end, own):
            is_replaced = is_whole and (event.uid, original) in replaced
            if (
                not is_replaced
                and not _is_cancelled(shown)
                and first < end
                and last > begin
            ):
                shifts.add(
                    Shift(
                        first,
                        last,
                        _attendees(shown),
                        str(shown.get("SUMMARY", ""))[:MAX_SUMMARY],
                    )
                )
    ordered = sorted(
        shifts,
        key=lambda shift: (shift.begin, shift.end, shift.attendees, shift.summary),
    )
    return DutyCalendar(ordered[:MAX_SHIFTS], left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """A parsed event.

    `component` has all its properties; it is untyped, because the library's types are unions of every property type. `replaces`
    is the occurrence of another event that it overrides. `periods` are the lengths of its occurrences with a length of their own.
    Without `recurrences`, it occurs once.
    """

    component: Any
    uid: str
    start: datetime
    length: timedelta
    periods: dict[datetime, timedelta]
    replaces: datetime | None
    recurrences: rruleset | None

    @property
    def local(self) -> tzinfo:
        return self.start.tzinfo or UTC


def _read(component: Any, zone: tzinfo) -> _Event | LeftOut:
    """Read all properties that affect the times of an event. An event with an unreadable one is left out."""
    broken = [str(name) for name, _reason in component.errors if name in _NEEDED]
    if broken or "DTSTART" not in component:
        return _left_out(component, broken[0] if broken else "DTSTART")
    try:
        event = _event_in(component, zone)
        _check_spans(event)
    except Exception:
        # The input is untrusted, so the libraries may raise anything.
        return _left_out(component, "RRULE" if "RRULE" in component else "")
    return event


def _check_spans(event: _Event) -> None:
    """Raise ValueError or OverflowError for times that are too far apart or too late to be added."""
    spans = [event.length, *event.periods.values()]
    if event.replaces is not None:
        spans.append(event.start - event.replaces)
    if max(map(abs, spans)) > MAX_SPAN:
        raise ValueError("longer than a year")
    # An event in the last year that Python knows could not be compared with others.
    if event.start.year == MAXYEAR:
        raise ValueError("too late")


def _event_in(component: Any, zone: tzinfo) -> _Event:
    start = aware(component["DTSTART"].dt, zone)
    local = start.tzinfo or UTC
    replaces = component.get("RECURRENCE-ID")
    recurs = replaces is None and ("RRULE" in component or "RDATE" in component)
    return _Event(
        component=component,
        uid=str(component.get("UID", "")),
        start=start,
        length=_length(component, start, zone),
        periods=lengths_of(component, local, zone),
        replaces=None if replaces is None else _moment(replaces.dt, zone),
        recurrences=recurrences_of(component, start.replace(tzinfo=None), local, zone)
        if recurs
        else None,
    )


def _left_out(component: Any, fault: str) -> LeftOut:
    begin = component.get("DTSTART")
    written = begin.to_ical().decode() if begin is not None else ""
    return LeftOut(
        str(component.get("SUMMARY", ""))[:MAX_SUMMARY], written[:MAX_BEGIN], fault
    )


def _newest(events: Sequence[_Event]) -> list[_Event]:
    """Drop events that have a newer version in the calendar, with a higher sequence number or a later timestamp."""
    newest: dict[tuple[str, datetime | None], _Event] = {}
    for event in events:
        # The same for all versions of an event.
        key = (event.uid, event.replaces)
        if key not in newest or _version(event.component) >= _version(
            newest[key].component
        ):
            newest[key] = event
    # Without an id, an event has no other versions.
    return [
        event
        for event in events
        if not event.uid or newest[event.uid, event.replaces] is event
    ]


def _version(component: Any) -> tuple[int, datetime]:
    from icalendar import vDDDTypes  # noqa: PLC0415 - loaded late

    # Either may be malformed, and then counts as absent.
    sequence = component.get("SEQUENCE")
    stamp = component.get("DTSTAMP")
    made_at = (
        _moment(stamp.dt, UTC)
        if isinstance(stamp, vDDDTypes) and isinstance(stamp.dt, date)
        else datetime.min.replace(tzinfo=UTC)
    )
    return sequence if isinstance(sequence, int) else 0, made_at


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of an occurrence and all later ones (`RANGE=THISANDFUTURE`): shift in time, length, and other properties."""

    since: datetime
    moved: timedelta
    length: timedelta
    component: Any


def _changes(events: Sequence[_Event]) -> dict[str, list[_Change]]:
    """Return the changes of an occurrence and all later ones, by event, in the order of the occurrences."""
    changes: dict[str, list[_Change]] = {}
    for event in events:
        if event.replaces is None or not _holds_for_following(event.component):
            continue
        before = event.replaces.astimezone(event.local)
        moved = event.start.replace(tzinfo=None) - before.replace(tzinfo=None)
        changes.setdefault(event.uid, []).append(
            _Change(event.replaces, moved, event.length, event.component)
        )
    for own in changes.values():
        own.sort(key=lambda change: change.since)
    return changes


def _holds_for_following(component: Any) -> bool:
    return (
        str(component["RECURRENCE-ID"].params.get("RANGE", "")).upper()
        == "THISANDFUTURE"
    )


def _occurrences(
    event: _Event, begin: datetime, end: datetime, changes: Sequence[_Change]
) -> Iterator[tuple[datetime, Any, datetime, datetime]]:
    """Yield each occurrence: its original start, the component that describes it, its start and its end."""
    # In wall-clock time, which recurrence rules count in.
    walls = [event.start.replace(tzinfo=None)]
    if event.recurrences is not None:
        earliest, latest = (
            moment.astimezone(event.local).replace(tzinfo=None)
            for moment in (begin, end)
        )
        moves = (abs(change.moved) + change.length for change in changes)
        margin = max([event.length, *event.periods.values(), *moves]) + DAY
        walls = event.recurrences.between(earliest - margin, latest + margin, inc=True)
    for wall in walls:
        original = wall.replace(tzinfo=event.local).astimezone(UTC)
        held = next(
            (change for change in reversed(changes) if change.since <= original), None
        )
        moved = timedelta()
        length = event.periods.get(wall, event.length)
        if held is not None:
            moved = held.moved
            length = held.length
        times = (wall + moved, wall + moved + length)
        begins, ends = (
            each.replace(tzinfo=event.local).astimezone(UTC) for each in times
        )
        yield (
            original,
            event.component if held is None else held.component,
            begins,
            ends,
        )


def _length(event: Any, start: datetime, zone: tzinfo) -> timedelta:
    if "DTEND" in event:
        end = aware(event["DTEND"].dt, zone).astimezone(start.tzinfo)
        return end.replace(tzinfo=None) - start.replace(tzinfo=None)
    if "DURATION" in event:
        length: timedelta = event["DURATION"].dt
        return length
    return timedelta() if isinstance(event["DTSTART"].dt, datetime) else DAY


def _moment(value: date | datetime, zone: tzinfo) -> datetime:
    return aware(value, zone).astimezone(UTC)


def _is_cancelled(event: Any) -> bool:
    return str(event.get("STATUS", "")).upper() == "CANCELLED"


def _attendees(event: Any) -> tuple[str, ...]:
    """Return the mail addresses of the attendees who have not declined."""
    attendees = [
        each
        for each in listed(event.get("ATTENDEE"))
        if each.params.get("PARTSTAT", "").upper() != "DECLINED"
    ]
    return tuple(sorted(set(filter(None, map(_address, attendees)))))


def _address(attendee: Any) -> str:
    """Return the mail address of an attendee, in lower case; empty without one.

    Some programs write it without `mailto:`, or in the parameter EMAIL (RFC 7986) where the value is the address of a room or a
    calendar.
    """
    text = str(attendee.params.get("EMAIL") or attendee).strip().lower()
    if text.startswith("mailto:"):
        text = unquote(text.removeprefix("mailto:").partition("?")[0])
    return text if "@" in text and ":" not in text else ""


def main() -> int:
    """Read a line of JSON with `begin`, `end` and `zone`, followed by a calendar; write the parsed calendar as JSON."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wanted = json.loads(sys.stdin.buffer.readline())
    begin, end = (datetime.fromisoformat(wanted[name]) for name in ("begin", "end"))
    calendar = duty_calendar_in(
        sys.stdin.buffer.read(), begin, end, ZoneInfo(wanted["zone"])
    )
    json.dump(asdict(calendar), sys.stdout, default=datetime.isoformat)
    return 0


if __name__ == "__main__":
    sys.exit(main())
