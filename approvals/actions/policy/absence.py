"""Set and end absences with their delegates, on record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing, standing_of
from approvals.actions.channels.cards import look_again
from approvals.actions.locking import lock_standing
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.votes.recount import ask_for_recount
from approvals.db.canonical_json import clean_text, utc
from approvals.db.transactions import after_commit
from approvals.exceptions import Conflict, Invalid, NotAllowed, NotFound
from approvals.live import doorbell
from approvals.models import Absence
from approvals.models.actors import Actor
from approvals.models.policy.absence import MAX_REASON
from approvals.queries.policy.absence import absences_seen_by, default_delegate_of
from approvals.record import audit
from approvals.states import Door
from approvals.text.times import short_time

#: How far back an absence may start, and how far ahead it may end.
LONGEST = timedelta(days=366)
#: How long the sweep still finds an absence after its start or end: longer than a process is ever late.
TOLD_WITHIN = timedelta(seconds=30)
#: The absences of that time that this process has announced, with the moment of their change.
_told: set[tuple[int, datetime]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """The input for an absence. Without `starts_at`, it starts at once.

    With `by_default`, the delegate is the default delegate of one of the person's teams, if there is one.
    """

    until: datetime
    starts_at: datetime | None = None
    delegate: User | AnonymousUser | None = None
    by_default: bool = False
    reason: str = ""


def set_absence(
    person: User | AnonymousUser, away: Away, *, by: Actor, via: Door
) -> Absence:
    """Store an absence, on record. Raise NotAllowed, Invalid, or Conflict if it overlaps another one."""
    if not isinstance(person, User) or not person.is_active:
        if permissions.may_administer(standing_of(by)):
            raise Invalid(
                _("The absence is invalid."),
                {"person": _("is not the name of an active person")},
            )
        raise _not_yours()
    _require_own(person, standing_of(by))
    with transaction.atomic():
        # One at a time: a person's absences never overlap, and delegation is part of people's rights.
        _require_own(person, lock_standing(by))
        now = timezone.now()
        starts_at = away.starts_at or now
        delegate = default_delegate_of(person) if away.by_default else away.delegate
        _check(person, away, starts_at, delegate, now, by)
        _require_free(person, starts_at, away.until)
        absence = Absence.objects.create(
            person=person,
            delegate=delegate if isinstance(delegate, User) else None,
            starts_at=starts_at,
            until=away.until,
            reason=clean_text(" ".join(away.reason.split())),
            set_by_id=by.pk,
            set_by_name=by.get_username(),
        )
        ask_for_recount()
        _record("absence.set", absence, by, via)
        after_commit(_tell_pages, absence)
    return absence


def end_absence(absence_id: int, *, by: Actor, via: Door) -> Absence:
    """End an absence, or cancel one that has not started, on record. Raise NotFound or NotAllowed."""
    with transaction.atomic():
        standing = lock_standing(by)
        absence = absences_seen_by(standing).filter(pk=absence_id).first()
        if absence is None:
            raise NotFound(_("Absence not found. It may have ended."))
        if absence.person_id != by.pk and not permissions.may_administer(standing):
            raise NotAllowed(
                _(
                    "Only the person who is away, or an administrator, can end an absence."
                )
            )
        Absence.objects.filter(pk=absence.pk).delete()
        ask_for_recount()
        _look_at_cards([absence])
        _record("absence.ended", absence, by, via)
        after_commit(_tell_pages, absence)
    return absence


def changing_absences(now: Any) -> QuerySet[Absence]:
    """Return the absences that have just begun or ended: `now` is a datetime, or the database's `Now()`."""
    since = now - TOLD_WITHIN
    return Absence.objects.filter(
        Q(starts_at__gt=since, starts_at__lte=now) | Q(until__gt=since, until__lte=now)
    )


def due_for_cards(now: Any) -> QuerySet[Absence]:
    """Return the absences whose start or end may have changed what a card may show."""
    return Absence.objects.filter(cards_due_at__lte=now)


def look_at_cards() -> None:
    """Let cards be looked at because absences were set, began or ended."""
    with transaction.atomic():
        due = list(due_for_cards(Now()))
        following = Case(
            When(starts_at__gt=Now(), then=F("starts_at")),
            When(until__gt=Now(), then=F("until")),
        )
        rows = Absence.objects.filter(pk__in=[absence.pk for absence in due])
        rows.update(cards_due_at=following)
        _look_at_cards(due)


def _look_at_cards(absences: Iterable[Absence]) -> None:
    """Let the cards be looked at that delegates may see through these absences, or could until now."""
    delegates = {row.delegate_id for row in absences if row.delegate_id is not None}
    if delegates:
        look_again(delegates)


def tell_of_changing_absences() -> None:
    """Notify the open pages of those concerned that an absence has begun or ended, once in each process."""
    now = timezone.now()
    rows = {
        (row.pk, row.until if row.until <= now else row.starts_at): row
        for row in changing_absences(Now())
    }
    for key in rows.keys() - _told:
        _tell_pages(rows[key])
    # Earlier ones do not recur.
    _told.clear()
    _told.update(rows)


def _tell_pages(absence: Absence) -> None:
    for person in (absence.person_id, absence.delegate_id):
        if person is not None:
            doorbell.notify(
                {doorbell.user_group(person)},
                {"type": "absence.changed", "person": absence.person_id},
            )


def _require_own(person: User, by: Standing) -> None:
    if person.pk != by.pk and not permissions.may_administer(by):
        raise _not_yours()


def _not_yours() -> NotAllowed:
    return NotAllowed(_("You can only set your own absences. Ask an administrator."))


def _check(
    person: User,
    away: Away,
    starts_at: datetime,
    delegate: User | AnonymousUser | None,
    now: datetime,
    by: Actor,
) -> None:
    """Raise Invalid, naming every problem."""
    errors = {}
    if away.until <= max(starts_at, now):
        errors["until"] = _("must be after the start and in the future")
    elif away.until > now + LONGEST:
        errors["until"] = _("must be within a year")
    if starts_at < now - LONGEST:
        errors["starts_at"] = _("must be within a year")
    if len(away.reason) > MAX_REASON:
        errors["reason"] = _("is longer than %(limit)s characters") % {
            "limit": MAX_REASON
        }
    if delegate is not None and (problem := _problem_of(delegate, person, by)):
        errors["delegate"] = problem
    if errors:
        raise Invalid(_("The absence is invalid."), errors)


def _problem_of(delegate: User | AnonymousUser, person: User, by: Actor) -> str:
    """Return why someone cannot be a person's delegate; empty if they can."""
    if delegate.pk == person.pk:
        return _("must be someone other than the person who is away")
    if delegate.pk is not None and delegate.pk == by.pk:
        return _("must be someone other than you")
    if DECIDE not in standing_of(delegate).rights:
        # Unknown users get the same message, so that no one can find out which accounts exist.
        return _("must be someone who may decide requests")
    return ""


def _require_free(person: User, starts_at: datetime, until: datetime) -> None:
    other = (
        Absence.objects.filter(person=person, starts_at__lt=until, until__gt=starts_at)
        .order_by("starts_at")
        .first()
    )
    if other is not None:
        raise Conflict(
            _("There is already an absence from %(start)s until %(end)s. End it first.")
            % {"start": short_time(other.starts_at), "end": short_time(other.until)}
        )


def _record(event: str, absence: Absence, by: Actor, via: Door) -> None:
    data = {
        "person": absence.person.get_username(),
        "delegate": absence.delegate.get_username() if absence.delegate else None,
        "starts_at": utc(absence.starts_at),
        "until": utc(absence.until),
        "reason": absence.reason,
    }
    audit.record(event, SUBJECT, data=data, actor=by, via=via)
