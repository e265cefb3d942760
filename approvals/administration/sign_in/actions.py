"""Add and remove group mappings, and name the break-glass account, on record."""

from __future__ import annotations

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


def add_mapping(value: str, group_id: int, *, by: User) -> PendingChange | None:
    """Add a mapping, or return the pending change if it needs another administrator. Raise NotFound, NotAllowed or Conflict."""
    with transaction.atomic():
        standing = lock_people(by)
        stored = {"value": value, "group": group_id}
        group = _group(group_id)
        require_team_without_rights(group, standing)
        if GroupMapping.objects.filter(**stored).exists():
            raise Conflict(_("This mapping already exists."))
        if GroupMapping.objects.count() >= MOST:
            message = _("There are %(number)d mappings already. Remove some first.")
            raise Conflict(message % {"number": MOST})
        if needs_second(standing):
            return request_change(
                Kind.GROUP_MAPPING,
                stored,
                subject=digest(stored),
                by=by,
                via=Door.DASHBOARD,
            )
        write_mapping(stored, requested_by=by, by=by)
        record_alone(Kind.GROUP_MAPPING, **stored, by=by, via=Door.DASHBOARD)
    return None


def write_mapping(stored: dict[str, Any], *, requested_by: User, by: User) -> None:
    """Write a mapping, on record. Raise NotFound."""
    group = _group(stored["group"])
    GroupMapping.objects.create(
        value=stored["value"], group=group, requested_by=requested_by, confirmed_by=by
    )
    _record("mapping added", stored, group, by)


def remove_mapping(mapping_id: int, *, by: User) -> PendingChange | None:
    """Remove a mapping, or return the pending change if it needs another administrator. Raise NotFound."""
    with transaction.atomic():
        standing = lock_people(by)
        before = described(mapping_id)
        if before is None:
            raise NotFound(_("Mapping not found. Someone may have removed it."))
        same = GroupMapping.objects.filter(group=before["group"])
        others = same.exclude(pk=mapping_id).exists()
        loosens = mapping_loosens(added=False, others=others)
        if loosens and needs_second(standing):
            return request_change(
                Kind.GROUP_MAPPING,
                None,
                subject=str(mapping_id),
                before=before,
                by=by,
                via=Door.DASHBOARD,
            )
        erase_mapping(mapping_id, by=by)
        if loosens:
            record_alone(Kind.GROUP_MAPPING, **before, by=by, via=Door.DASHBOARD)
    return None


def erase_mapping(mapping_id: int, *, by: User) -> None:
    """Remove a mapping, on record. What it has given stays, unless another mapping takes it at the next log-in."""
    mapping = GroupMapping.objects.select_related("group").get(pk=mapping_id)
    stored = {"value": mapping.value, "group": mapping.group_id}
    mapping.delete()
    _record("mapping removed", stored, mapping.group, by)


def set_break_glass(person: User | None) -> None:
    """Make this person the only break-glass account, or no one, on record. Raise Conflict if they could not help."""
    with transaction.atomic():
        lock_rights()
        if person is not None and not can_break_glass(person):
            raise Conflict(
                _(
                    "A break-glass account must be active, have a password, and be an administrator or a superuser."
                )
            )
        BreakGlassAccount.objects.all().delete()
        data: dict[str, Any] = {"change": "break-glass account removed"}
        if person is not None:
            BreakGlassAccount.objects.create(person=person)
            data = {
                "change": "break-glass account set",
                "user": person.get_username(),
                "user_id": person.pk,
            }
        audit.record("sign_in.changed", SUBJECT, data=data, actor=None, via=Door.SYSTEM)


def described(mapping_id: int) -> dict[str, Any] | None:
    """Return a mapping in the form that is compared; None if it does not exist."""
    return GroupMapping.objects.filter(pk=mapping_id).values("value", "group").first()


def _group(group_id: int) -> Group:
    group = Group.objects.filter(pk=group_id).first()
    if group is None:
        raise NotFound(_("This role or team no longer exists."))
    return group


def _record(change: str, stored: dict[str, Any], group: Group, by: User) -> None:
    data = {"change": change, **stored, "name": group.name}
    audit.record("sign_in.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD)
