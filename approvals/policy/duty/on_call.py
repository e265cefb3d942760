"""Who is on call in a team, according to its stored shifts; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from approvals.db.canonical_json import utc
from approvals.policy.duty.calendars import Shift

#: After this time without a successful read, a calendar is ignored.
STALE = timedelta(hours=24)
#: How far ahead and back shifts are stored.
AHEAD = timedelta(days=8)
BEHIND = timedelta(hours=1)
MAX_NAME = 254

#: A stored shift: `{"person": id, "name": name, "from": time, "until": time}`; the id is null if no member has the name.
Duty = Mapping[str, Any]


def duty_of(
    shifts: Iterable[Shift], members: Mapping[int, Collection[str]]
) -> list[Duty]:
    """Return the shifts in their stored form. `members` maps each member of the team to their username and mail address.

    Attendees are identified by mail address. A shift without attendees names people in its summary, by username or mail address,
    separated by commas.
    """
    by_name: dict[str, list[int]] = {}
    for person, names in members.items():
        for name in filter(None, names):
            by_name.setdefault(name.casefold(), []).append(person)
    stored: list[Duty] = []
    for shift in shifts:
        names = shift.attendees or [
            name.strip() for name in re.split(r"[,;]", shift.summary) if name.strip()
        ]
        times = {"from": utc(shift.begin), "until": utc(shift.end)}
        for name in names:
            people: Sequence[int | None] = by_name.get(name.casefold()) or [None]
            stored += [
                {"person": person, "name": name[:MAX_NAME], **times}
                for person in people
            ]
    return stored


def on_duty(duty: Iterable[Duty], now: datetime) -> frozenset[int]:
    """Return the ids of the people on call now."""
    return frozenset(
        each["person"]
        for each in duty
        if each["person"] is not None
        and datetime.fromisoformat(each["from"])
        <= now
        < datetime.fromisoformat(each["until"])
    )


def is_stale(url: str, read_at: datetime | None, now: datetime) -> bool:
    """Return whether a calendar's shifts are too old to use; shifts set by a program simply end."""
    return bool(url) and (read_at is None or now - read_at > STALE)
