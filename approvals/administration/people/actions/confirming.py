"""Changes of people who decide, or who are to decide: one administrator requests them, another one confirms them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.standing_changes import standing_changed
from approvals.administration.account_mails import Change, tell_person
from approvals.administration.changeable import changeable_person, lock_people, needs_second
from approvals.administration.people.actions.roles import add_rights, add_roles
from approvals.exceptions import Conflict, NotAllowed, NotFound
from approvals.models import PendingChange
from approvals.models.people import Right, RoleName
from approvals.record import audit
from approvals.states import Door

Kind = PendingChange.Kind


def request_change(person: User, kind: Kind, value: Any, *, by: User) -> PendingChange:
    """Let a change of a locked person wait for another administrator, on record; it replaces an earlier one of its kind."""
    requested = {"value": value, "requested_by": by, "requested_at": timezone.now()}
    change, _new = PendingChange.objects.update_or_create(person=person, kind=kind, defaults=requested)
    _record(change, "requested", by)
    return change


def confirm_change(change_id: int, *, by: User) -> PendingChange:
    """Carry out what another administrator has requested, on record. NotFound, NotAllowed, Conflict.

    A link is made by the caller, who shows it to this administrator.
    """
    with transaction.atomic():
        lock_people(by)
        change = _waiting(change_id)
        person = changeable_person(change.person_id, by)
        if by.pk == person.pk:
            raise NotAllowed(_("You cannot confirm a change to your own access. Ask another administrator."))
        if by.pk == change.requested_by_id and needs_second(by):
            raise NotAllowed(_("You requested this change. Another administrator must confirm it."))
        if not permissions.may_administer(change.requested_by):
            raise Conflict(_("The requester is no longer an administrator. Cancel this change, and request it again."))
        # By the clock of the database, as everything that expires.
        if PendingChange.objects.filter(pk=change.pk, requested_at__lte=Now() - PendingChange.VALID_FOR).exists():
            message = _("This was requested more than %(days)d days ago. Cancel it, and request it again.")
            raise Conflict(message % {"days": PendingChange.VALID_FOR.days})
        _record(change, "confirmed", by)
        if change.kind == Kind.ROLES:
            add_roles(person, change.value)
            standing_changed({})
            tell_person(person, Change.ROLES, by=by, detail=names_of_roles(change.value))
        elif change.kind == Kind.RIGHTS:
            add_rights(person, change.value)
            standing_changed({})
            tell_person(person, Change.RIGHTS, by=by, detail=names_of_rights(change.value))
        elif change.kind == Kind.EMAIL:
            tell_person(person, Change.EMAIL, by=by, detail=change.value, also_to=change.value)
            person.email = change.value
            person.save(update_fields=["email"])
        else:
            tell_person(person, Change.LINK, by=by)
        PendingChange.objects.filter(pk=change.pk).delete()
    return change


def withdraw_change(change_id: int, *, by: User) -> PendingChange:
    """Remove a change that waits, on record; who requested it always may. NotFound, NotAllowed."""
    with transaction.atomic():
        lock_people(by)
        change = _waiting(change_id)
        if by.pk != change.requested_by_id:
            changeable_person(change.person_id, by)
        _record(change, "withdrawn", by)
        PendingChange.objects.filter(pk=change.pk).delete()
    return change


def names_of_roles(names: Sequence[str]) -> str:
    """Return the labels of roles, for people."""
    return ", ".join(str(RoleName(name).label) for name in names)


def names_of_rights(names: Sequence[str]) -> str:
    """Return the labels of additional rights, for people."""
    return ", ".join(str(Right(name).label) for name in names)


def _waiting(change_id: int) -> PendingChange:
    change = PendingChange.objects.select_related("requested_by").filter(pk=change_id).first()
    if change is None:
        raise NotFound(_("This change is no longer waiting. It was confirmed or cancelled."))
    return change


def _record(change: PendingChange, step: str, by: User) -> None:
    person, asker = change.person, change.requested_by
    data: Mapping[str, object] = {
        "user": person.get_username(),
        "user_id": person.pk,
        "change": step,
        "of": change.kind,
        **({"value": change.value} if change.value is not None else {}),
        **({"requested_by": asker.get_username()} if by.pk != asker.pk else {}),
    }
    audit.record("person.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD)
