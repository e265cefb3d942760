"""Keep on-call schedules up to date: read team calendars when due, and store schedules from programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connections, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing, read_again, standing_of
from approvals.actions.logins import SUBJECT
from approvals.db.canonical_json import utc
from approvals.exceptions import Conflict, Invalid, NotAllowed, NotFound
from approvals.models import TeamSettings
from approvals.models.actors import Actor
from approvals.outbound.duty_calendars import Unreadable, duty_calendar_at
from approvals.policy.duty.on_call import AHEAD, BEHIND, Duty, duty_of
from approvals.queries.policy.duty.teams import zone_of_team
from approvals.record import audit
from approvals.states import Door

#: How often a calendar is read.
INTERVAL = timedelta(minutes=15)
#: How far in advance a program can set the people on call, and how many.
LONGEST = timedelta(days=31)
MOST = 50
BATCH = 10
#: Maximum number of unreadable events that are stored for the team's page.
MAX_LEFT_OUT = 20


def due_calendars(now: Any) -> QuerySet[TeamSettings]:
    """Return the teams whose calendar is due."""
    return TeamSettings.objects.filter(duty_due_at__lte=now)


def read_due_calendars() -> None:
    """Read the due calendars, each in one process only."""
    for row in (
        due_calendars(Now()).select_related("team").order_by("duty_due_at")[:BATCH]
    ):
        # The process that moves the due time reads the calendar.
        if TeamSettings.objects.filter(pk=row.pk, duty_due_at=row.duty_due_at).update(
            duty_due_at=Now() + INTERVAL
        ):
            _read(row)


def _read(row: TeamSettings) -> None:
    now = timezone.now()
    zone = zone_of_team(row)
    # The connection is not held during the network call.
    connections.close_all()
    try:
        calendar = duty_calendar_at(row.duty_url, now - BEHIND, now + AHEAD, zone.key)
    except Unreadable as error:
        _store(row, {"duty_error": str(error)[:300]})
    else:
        members = {
            person.pk: (person.username, person.email) for person in _members(row.team)
        }
        left_out = [asdict(event) for event in calendar.left_out[:MAX_LEFT_OUT]] or None
        duty = duty_of(calendar.shifts, members)
        _store(
            row,
            {
                "duty": duty,
                "duty_left_out": left_out,
                "duty_read_at": Now(),
                "duty_error": "",
            },
        )


def _store(row: TeamSettings, columns: dict[str, Any]) -> None:
    """Store a read calendar, unless its address has changed; record when reading starts to fail and when it works again."""
    with transaction.atomic():
        if not TeamSettings.objects.filter(pk=row.pk, duty_url=row.duty_url).update(
            **columns
        ):
            return
        if bool(row.duty_error) != bool(columns["duty_error"]):
            event = "duty.unreadable" if columns["duty_error"] else "duty.readable"
            read_at = utc(row.duty_read_at) if row.duty_read_at else None
            data = {
                "team": row.team.name,
                "error_text": columns["duty_error"],
                "read_at": read_at,
            }
            audit.record(event, SUBJECT, data=data, actor=None, via=Door.SYSTEM)


def set_on_duty(
    name: str,
    people: Sequence[User | AnonymousUser],
    until: datetime,
    *,
    by: Actor,
    via: Door,
) -> TeamSettings:
    """Store that these team members are on call from now until a moment. Raise NotAllowed, NotFound, Invalid or Conflict."""
    _require_administrator(standing_of(by))
    with transaction.atomic():
        team = (
            Group.objects.filter(name=name, role=None).first()
            if "\x00" not in name
            else None
        )
        if team is None:
            raise NotFound(_("Team not found. Someone may have removed it."))
        row = (
            TeamSettings.objects.select_for_update(of=("self",), no_key=True)
            .filter(team=team)
            .first()
        )
        _require_administrator(read_again(by))
        row = row or TeamSettings(team=team)
        if row.duty_url:
            raise Conflict(
                _(
                    "A calendar sets who is on call in this team. Remove the calendar first."
                )
            )
        _check(team, people, until)
        now = timezone.now()
        row.duty = [
            _duty(person, now, until) for person in people if isinstance(person, User)
        ]
        row.duty_left_out = None
        row.duty_read_at = now
        row.duty_error = ""
        row.save()
        names = [duty["name"] for duty in row.duty]
        data = {"team": team.name, "people": names, "until": utc(until)}
        audit.record("duty.set", SUBJECT, data=data, actor=by, via=via)
    return row


def _require_administrator(by: Standing) -> None:
    if not permissions.may_administer(by):
        raise NotAllowed(_("Only administrators can set who is on call."))


def _check(
    team: Group, people: Sequence[User | AnonymousUser], until: datetime
) -> None:
    now = timezone.now()
    errors = {}
    members = set(_members(team).values_list("pk", flat=True))
    if not now < until <= now + LONGEST:
        errors["until"] = _("must be in the future, within 31 days")
    if len(people) > MOST:
        errors["people"] = _("has more than %(limit)s names") % {"limit": MOST}
    elif any(person.pk not in members for person in people):
        errors["people"] = _("can only name active members of the team")
    if errors:
        raise Invalid(_("The on-call list is invalid."), errors)


def _duty(person: User, now: datetime, until: datetime) -> Duty:
    return {
        "person": person.pk,
        "name": person.get_username(),
        "from": utc(now),
        "until": utc(until),
    }


def _members(team: Group) -> QuerySet[User]:
    return team.user_set.filter(is_active=True)
