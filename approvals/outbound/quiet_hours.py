"""Hold messages to a person during their quiet hours, unless they are about a critical request."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, time, timedelta

from approvals.db.many import any_of
from approvals.models import Preferences
from approvals.queries.preferences import zone_of


def preferences_of_people(ids: Collection[int]) -> dict[int, Preferences]:
    """Return the preferences of these people by id, in one statement; people without preferences are missing."""
    return {
        row.person_id: row
        for row in Preferences.objects.filter(person__in=any_of(ids, int))
    }


def may_leave_at(preferences: Preferences | None, now: datetime) -> datetime:
    """Return `now`, or the end of the current quiet hours."""
    if (
        preferences is None
        or preferences.quiet_from is None
        or preferences.quiet_until is None
    ):
        return now
    local = now.astimezone(zone_of(preferences))
    if not _is_quiet(local.time(), preferences.quiet_from, preferences.quiet_until):
        return now
    end = datetime.combine(local.date(), preferences.quiet_until, local.tzinfo)
    # Quiet hours may span midnight. Add calendar days, because a day may have 23 or 25 hours.
    if end <= local:
        end = datetime.combine(
            local.date() + timedelta(days=1), preferences.quiet_until, local.tzinfo
        )
    return end.astimezone(now.tzinfo)


def _is_quiet(now: time, begin: time, end: time) -> bool:
    return begin <= now < end if begin < end else now >= begin or now < end
