"""Whose access an administrator may change alone, and whose only with a second administrator or not at all."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import Permission, User
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.permissions import may_administer
from approvals.access.rights import ADMINISTER, BREAK_GLASS, DECIDE, IGNORE_SCOPES, REVEAL
from approvals.access.standing import Standing
from approvals.actions.locking import lock_standing
from approvals.exceptions import NotAllowed, NotFound
from approvals.models.actors import Actor
from approvals.models.people import ROLE_PERMISSIONS, PendingChange, RoleName

#: The permissions that decide, that could be used to become someone who decides, or that open what is kept from deciders.
PROTECTED = frozenset(name.partition(".")[2] for name in (DECIDE, ADMINISTER, IGNORE_SCOPES, REVEAL, BREAK_GLASS))
#: The changes that give a person one of these.
GIVING = (PendingChange.Kind.ROLES, PendingChange.Kind.RIGHTS)


def lock_people(by: Actor) -> Standing:
    """Hold the one lock on who may do what, as someone who is an administrator still. NotAllowed, NotAuthenticated.

    Two who take rights away at the same moment cannot remove each other.
    """
    standing = lock_standing(by)
    if not may_administer(standing):
        raise NotAllowed(_("You are no longer an administrator. Nothing was changed."))
    return standing


def is_beyond_administrators(person: User) -> bool:
    """Return whether only a superuser may change this person: a superuser, staff, or whoever may change users or groups."""
    return person.is_superuser or person.is_staff or permissions_of(person, "auth").exists()


def is_protected(person: User) -> bool:
    """Return whether this person has one of these permissions, or is about to get it, also while they are deactivated."""
    held = permissions_of(person, "approvals").filter(codename__in=PROTECTED)
    waiting = PendingChange.objects.filter(person=person, kind__in=GIVING)
    return person.is_superuser or held.exists() or waiting.exists()


def permissions_of(person: User, app: str) -> QuerySet[Permission]:
    """Return the permissions of an app that a person has, directly or through a group."""
    return Permission.objects.filter(Q(user=person) | Q(group__user=person), content_type__app_label=app)


def protected_roles(names: Collection[str]) -> set[str]:
    """Return the roles, of these, that decide or administer."""
    return {name for name in names if PROTECTED & set(ROLE_PERMISSIONS[RoleName(name)])}


def waits_for_second(person: User, by: Standing) -> bool:
    """Return whether a link or another mail address for this person needs another administrator."""
    return needs_second(by) and is_protected(person)


def require_changeable(person: User, by: Standing) -> None:
    """Raise NotAllowed if only a superuser may change this person or their keys."""
    if not by.is_superuser and is_beyond_administrators(person):
        raise NotAllowed(_("Only a superuser can change superusers, staff, and people who may change users."))


def changeable_person(person_id: int, by: Standing) -> User:
    """Return the locked person if this administrator may change them. NotFound, NotAllowed."""
    person = User.objects.select_for_update(no_key=True).filter(pk=person_id).first()
    if person is None:
        raise NotFound(_("Person not found."))
    require_changeable(person, by)
    return person
