"""Who of a team is on duty, by the shifts that are stored; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from approvals.db.canonical_json import utc
from approvals.policy.calendars import Shift

#: A calendar that could not be read for so long says nothing any more.
STALE = timedelta(hours=24)
#: How far ahead shifts are stored, and how much of the past.
AHEAD, BEHIND = timedelta(days=8), timedelta(hours=1)
MAX_NAME = 254

#: What is stored of a shift: `{"person": id, "name": name, "from": time, "until": time}`; a name of no member has no id.
Duty = Mapping[str, Any]


def duty_of(shifts: Iterable[Shift], members: Mapping[int, Collection[str]]) -> list[Duty]:
    """Return the shifts as they are stored. `members` are the names of each member of the team: username and mail address.

    Attendees are known by their mail address. A shift without any names people in its summary, by username or mail address,
    several with commas.
    """
    by_name: dict[str, list[int]] = {}
    for person, names in members.items():
        for name in filter(None, names):
            by_name.setdefault(name.casefold(), []).append(person)
    stored: list[Duty] = []
    for shift in shifts:
        names = shift.attendees or [name.strip() for name in re.split(r"[,;]", shift.summary) if name.strip()]
        times = {"from": utc(shift.begin), "until": utc(shift.end)}
        for name in names:
            people: Sequence[int | None] = by_name.get(name.casefold()) or [None]
            stored += [{"person": person, "name": name[:MAX_NAME], **times} for person in people]
    return stored


def on_duty(duty: Iterable[Duty], now: datetime) -> frozenset[int]:
    """Return the ids of those who are on duty now."""
    return frozenset(
        each["person"]
        for each in duty
        if each["person"] is not None
        and datetime.fromisoformat(each["from"]) <= now < datetime.fromisoformat(each["until"])
    )


def is_stale(url: str, read_at: datetime | None, now: datetime) -> bool:
    """Return whether what a calendar said is too old to go by; what was set by a program ends by itself."""
    return bool(url) and (read_at is None or now - read_at > STALE)
