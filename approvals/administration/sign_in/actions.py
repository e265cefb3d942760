"""Add and remove group mappings, and name the break-glass account, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access.administrators import can_break_glass, needs_second
from approvals.actions.changes import Kind, record_alone, request_change
from approvals.actions.locking import lock_rights
from approvals.actions.logins import SUBJECT
from approvals.administration.changeable import lock_people
from approvals.administration.people.actions.teams import require_team_without_rights
from approvals.db.canonical_json import digest
from approvals.exceptions import Conflict, NotFound
from approvals.models import BreakGlassAccount, GroupMapping, PendingChange
from approvals.policy.loosening import mapping_loosens
from approvals.record import audit
from approvals.states import Door

#: All are read at each log-in at the provider.
MOST = 500


def change_mapping(
    value: str, group_id: int, *, add: bool, by: User
) -> PendingChange | None:
    """Add or remove a mapping, or return the pending change if it needs another administrator.

    Raise NotFound, NotAllowed or Conflict.
    """
    with transaction.atomic():
        standing = lock_people(by)
        stored = {"value": value, "group": group_id}
        same = GroupMapping.objects.filter(group=group_id)
        known = same.filter(value=value).exists()
        if not add and not known:
            raise NotFound(_("Mapping not found. Someone may have removed it."))
        if add:
            require_team_without_rights(known_group(stored), standing)
            if known:
                raise Conflict(_("This mapping already exists."))
            if GroupMapping.objects.count() >= MOST:
                message = _("There are %(number)d mappings already. Remove some first.")
                raise Conflict(message % {"number": MOST})
        loosens = mapping_loosens(added=add, others=same.count() > 1)
        if loosens and needs_second(standing):
            return request_change(
                Kind.GROUP_MAPPING,
                stored if add else None,
                subject=digest(stored),
                before=None if add else stored,
                by=by,
                via=Door.DASHBOARD,
            )
        write_mapping(stored, add=add, requested_by=by, by=by)
        if loosens:
            record_alone(Kind.GROUP_MAPPING, **stored, by=by, via=Door.DASHBOARD)
    return None


def write_mapping(
    stored: Mapping[str, Any], *, add: bool, requested_by: User, by: User
) -> None:
    """Add a mapping, or remove it, on record. People keep the role or team of the last one. Raise NotFound."""
    group = known_group(stored)
    mapping = {"value": stored["value"], "group": group}
    if add:
        GroupMapping.objects.create(
            **mapping, requested_by=requested_by, confirmed_by=by
        )
    else:
        GroupMapping.objects.filter(**mapping).delete()
    change = "mapping added" if add else "mapping removed"
    _record({"change": change, **stored, "name": group.name}, by, Door.DASHBOARD)


def set_break_glass(person: User) -> None:
    """Make this person the only break-glass account, on record. Raise Conflict if they could not help."""
    with transaction.atomic():
        lock_rights()
        if not can_break_glass(person):
            raise Conflict(
                _(
                    "A break-glass account must be active, have a password, and be an administrator or a superuser."
                )
            )
        BreakGlassAccount.objects.all().delete()
        BreakGlassAccount.objects.create(person=person)
        about = {"user": person.get_username(), "user_id": person.pk}
        _record({"change": "break-glass account", **about}, None, Door.SYSTEM)


def known_group(stored: Mapping[str, Any]) -> Group:
    """Return the group of a mapping. Raise NotFound."""
    group = Group.objects.filter(pk=stored["group"]).first()
    if group is None:
        raise NotFound(_("This role or team no longer exists."))
    return group


def _record(data: Mapping[str, Any], by: User | None, via: Door) -> None:
    audit.record("sign_in.changed", SUBJECT, data=data, actor=by, via=via)
