"""The people of a team who are on call now, or everyone if unknown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.db.many import any_of
from approvals.models import TeamSettings
from approvals.policy.duty.on_call import is_stale, on_duty


def on_duty_in(teams: Collection[int]) -> dict[int, frozenset[int]]:
    """Return the people on call now, by the id of the team; teams without known people on call are missing."""
    if not teams:
        return {}
    now = timezone.now()
    rows = TeamSettings.objects.filter(team__in=any_of(teams, int))
    known = {
        row.pk: on_duty(row.duty, now)
        for row in rows
        if not is_stale(row.duty_url, row.duty_read_at, now)
    }
    return {team: people for team, people in known.items() if people}


@dataclass(frozen=True, slots=True)
class DutyState:
    """The on-call state for the page of a team: who is on call now and until when, names that are no members, the time of the
    last read if stale, and unreadable events."""

    now: list[User]
    unknown: list[str]
    stale: bool
    read_at: datetime | None
    error: str
    left_out: Sequence[Mapping[str, str]]


def duty_state(row: TeamSettings) -> DutyState:
    """Return the on-call state of a team."""
    now = timezone.now()
    people = User.objects.filter(pk__in=any_of(on_duty(row.duty, now), int)).order_by(
        "username"
    )
    unknown = sorted({each["name"] for each in row.duty if each["person"] is None})
    stale = is_stale(row.duty_url, row.duty_read_at, now)
    return DutyState(
        list(people),
        unknown[:20],
        stale,
        row.duty_read_at,
        row.duty_error,
        row.duty_left_out or [],
    )
