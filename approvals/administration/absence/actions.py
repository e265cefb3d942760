"""Change team settings, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from approvals.actions.logins import SUBJECT
from approvals.administration.people.queries import find_team
from approvals.db.canonical_json import digest
from approvals.models import TeamSettings
from approvals.record import audit
from approvals.states import Door

FIELDS = ("default_delegate", "time_zone", "working_hours", "duty_url")


def store_team_settings(
    team_id: int, fields: Mapping[str, Any], *, by: User, via: Door
) -> TeamSettings:
    """Store the settings of a team. Raise NotFound."""
    with transaction.atomic():
        team = find_team(team_id)
        row = (
            TeamSettings.objects.select_for_update(of=("self",), no_key=True)
            .filter(team=team)
            .first()
        )
        row = row or TeamSettings(team=team)
        before = _described(row)
        old_url = row.duty_url
        for name in FIELDS:
            setattr(row, name, fields[name])
        if row.duty_url != old_url:
            # Entries from another calendar or a program are no longer valid.
            row.duty = []
            row.duty_left_out = None
            row.duty_read_at = None
            row.duty_error = ""
        if row.duty_url:
            # Read at once: the members or the time zone may have changed too.
            row.duty_due_at = timezone.now()
        else:
            row.duty_due_at = None
        row.save()
        after = _described(row)
        if before != after:
            data = {
                "team": team.name,
                "change": "settings",
                "before": before,
                "after": after,
            }
            audit.record("team.changed", SUBJECT, data=data, actor=by, via=via)
    return row


def _described(row: TeamSettings) -> dict[str, Any]:
    delegate = row.default_delegate
    return {
        "default_delegate": delegate.get_username() if delegate else None,
        "time_zone": row.time_zone,
        "working_hours": row.working_hours,
        # A digest, because anyone with the address can read the calendar.
        "duty_calendar": digest(row.duty_url) if row.duty_url else None,
    }
