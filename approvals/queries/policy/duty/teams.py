"""The working hours of teams, each in its own time zone."""

from __future__ import annotations

from collections.abc import Collection
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings

from approvals.db.many import any_of
from approvals.models import TeamSettings
from approvals.policy.working_hours import Hours, parse_week


def hours_of(teams: Collection[int]) -> list[Hours]:
    """Return the working hours of those of these teams that have any."""
    if not teams:
        return []
    rows = TeamSettings.objects.filter(team__in=any_of(teams, int)).exclude(
        working_hours=""
    )
    return [Hours(parse_week(row.working_hours), zone_of_team(row)) for row in rows]


def zone_of_team(team: TeamSettings) -> ZoneInfo:
    """Return the time zone of a team, or that of the installation."""
    try:
        return ZoneInfo(team.time_zone or settings.TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        # It was removed from the time zone data, or the data is missing.
        return ZoneInfo(settings.TIME_ZONE)
