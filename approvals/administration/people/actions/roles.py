"""Create the groups of the built-in roles, and assign roles to people."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.exceptions import Conflict
from approvals.models.people import ROLE_PERMISSIONS, Right, Role, RoleName


def create_roles(using: str = "default") -> None:
    """Create the missing roles. Existing roles, and groups of the same name, stay unchanged."""
    existing = set(Role.objects.using(using).values_list("name", flat=True))
    for name in RoleName:
        if name not in existing:
            with transaction.atomic(using=using):
                _create_role(name, using)


def _create_role(name: RoleName, using: str) -> None:
    english = name.value.capitalize()
    taken = Group.objects.using(using).filter(name=english).exists()
    group = Group.objects.using(using).create(
        name=f"{english} (role)" if taken else english
    )
    wanted = Permission.objects.using(using).filter(
        content_type__app_label="approvals", codename__in=ROLE_PERMISSIONS[name]
    )
    group.permissions.set(wanted)
    Role.objects.using(using).create(name=name, group=group)


def add_roles(person: User, names: Collection[str]) -> None:
    """Add these roles to a person's roles."""
    person.groups.add(
        *Role.objects.filter(name__in=list(names)).values_list("group_id", flat=True)
    )


def give_roles(person: User, names: Collection[str]) -> None:
    """Set a person's roles; their teams and own permissions stay. Raise ValueError for an unknown role."""
    if unknown := set(names) - set(RoleName.values):
        raise ValueError(f"There is no role {unknown}.")
    with transaction.atomic():
        roles = list(Role.objects.all())
        person.groups.remove(
            *[role.group_id for role in roles if role.name not in names]
        )
        person.groups.add(*[role.group_id for role in roles if role.name in names])


def remove_roles(person: User, names: Collection[str]) -> None:
    """Remove these roles from a person. Raise Conflict if no administrator would be left."""
    person.groups.remove(
        *Role.objects.filter(name__in=list(names)).values_list("group_id", flat=True)
    )
    require_an_administrator()


def require_an_administrator() -> None:
    """Raise Conflict, and so roll back, unless an active person may still administer."""
    if not permissions.administrators().exists():
        raise Conflict(
            _(
                "No one could manage Pausepoint after this. Make someone else an administrator first."
            )
        )


def add_rights(person: User, names: Collection[str]) -> None:
    """Add these to a person's additional rights."""
    person.user_permissions.add(*_permissions(names))


def give_rights(person: User, names: Collection[str]) -> None:
    """Set a person's directly held additional rights; other permissions stay."""
    person.user_permissions.remove(*_permissions(set(Right.values) - set(names)))
    add_rights(person, names)


def _permissions(rights: Collection[str]) -> list[Permission]:
    if unknown := set(rights) - set(Right.values):
        raise ValueError(f"There is no additional right {unknown}.")
    return list(
        Permission.objects.filter(
            content_type__app_label="approvals", codename__in=list(rights)
        )
    )
