"""Who of a team is on duty now, or everyone if that is not known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.db.many import any_of
from approvals.models import TeamSettings
from approvals.policy.duty import is_stale, on_duty


def on_duty_in(teams: Collection[int]) -> dict[int, frozenset[int]]:
    """Return who is on duty now, by the id of the team; a team of which no one is known to be on duty is missing."""
    if not teams:
        return {}
    now = timezone.now()
    rows = TeamSettings.objects.filter(team__in=any_of(teams, int))
    known = {row.pk: on_duty(row.duty, now) for row in rows if not is_stale(row.duty_url, row.duty_read_at, now)}
    return {team: people for team, people in known.items() if people}


@dataclass(frozen=True, slots=True)
class DutyState:
    """What the page of a team says: who is on duty now and until when, which names are no members, since when it is
    stale, and which events cannot be read."""

    now: list[User]
    unknown: list[str]
    stale: bool
    read_at: datetime | None
    error: str
    left_out: Sequence[Mapping[str, str]]


def duty_state(row: TeamSettings) -> DutyState:
    """Return what is known of who is on duty."""
    now = timezone.now()
    people = User.objects.filter(pk__in=any_of(on_duty(row.duty, now), int)).order_by("username")
    unknown = sorted({each["name"] for each in row.duty if each["person"] is None})
    stale = is_stale(row.duty_url, row.duty_read_at, now)
    return DutyState(list(people), unknown[:20], stale, row.duty_read_at, row.duty_error, row.duty_left_out or [])
