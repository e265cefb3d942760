"""Check which accounts an administrator may change alone, which with a second administrator, and which not at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib.auth.models import Permission, User
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.permissions import may_administer
from approvals.access.rights import (
    ADMINISTER,
    BREAK_GLASS,
    DECIDE,
    IGNORE_SCOPES,
    REVEAL,
)
from approvals.access.standing import Standing
from approvals.actions.locking import lock_standing
from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotAllowed, NotFound
from approvals.models.actors import Actor, Signatory
from approvals.models.people import ROLE_PERMISSIONS, PendingChange, RoleName
from approvals.record import audit
from approvals.states import Door

#: Permissions to decide, permissions that could be used to become a decider, and those that reveal data kept from deciders.
PROTECTED = frozenset(
    name.partition(".")[2]
    for name in (DECIDE, ADMINISTER, IGNORE_SCOPES, REVEAL, BREAK_GLASS)
)
#: Kinds of change that can give a person one of these.
GIVING = (PendingChange.Kind.ROLES, PendingChange.Kind.RIGHTS)


def lock_people(by: Actor) -> Standing:
    """Take the lock on all permissions and check that `by` is still an administrator. Raise NotAllowed or NotAuthenticated.

    With one lock, two administrators cannot remove each other at the same moment.
    """
    standing = lock_standing(by)
    if not may_administer(standing):
        raise NotAllowed(_("You are no longer an administrator. Nothing was changed."))
    return standing


def is_beyond_administrators(person: User) -> bool:
    """Return whether only superusers may change this person: a superuser, staff, or a person who may change users or groups."""
    return (
        person.is_superuser
        or person.is_staff
        or permissions_of(person, "auth").exists()
    )


def is_protected(person: User) -> bool:
    """Return whether this person, active or not, has a protected permission or is about to get one."""
    held = permissions_of(person, "approvals").filter(codename__in=PROTECTED)
    waiting = PendingChange.objects.filter(person=person, kind__in=GIVING)
    return person.is_superuser or held.exists() or waiting.exists()


def permissions_of(person: User, app: str) -> QuerySet[Permission]:
    """Return the permissions of an app that a person has, directly or through a group."""
    return Permission.objects.filter(
        Q(user=person) | Q(group__user=person), content_type__app_label=app
    )


def protected_roles(names: Collection[str]) -> set[str]:
    """Return those of these roles that decide or administer."""
    return {name for name in names if PROTECTED & set(ROLE_PERMISSIONS[RoleName(name)])}


def waits_for_second(person: User, by: Standing) -> bool:
    """Return whether a password link or a new mail address for this person needs a second administrator."""
    return needs_second(by) and is_protected(person)


def require_changeable(person: User, by: Standing) -> None:
    """Raise NotAllowed if only a superuser may change this person or their API keys."""
    if not by.is_superuser and is_beyond_administrators(person):
        raise NotAllowed(
            _(
                "Only a superuser can change superusers, staff, and people who may change users."
            )
        )


def changeable_person(person_id: int, by: Standing) -> User:
    """Return the locked person. Raise NotFound, or NotAllowed if this administrator may not change them."""
    person = User.objects.select_for_update(no_key=True).filter(pk=person_id).first()
    if person is None:
        raise NotFound(_("Person not found."))
    require_changeable(person, by)
    return person


def record_person(
    event: str,
    person: User,
    data: Mapping[str, object],
    *,
    by: Signatory | None,
    via: Door = Door.DASHBOARD,
) -> None:
    """Record a change of a person's account."""
    about = {"user": person.get_username(), "user_id": person.pk}
    audit.record(event, SUBJECT, data=about | dict(data), actor=by, via=via)
