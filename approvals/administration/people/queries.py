"""People, their roles, teams and sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.rights import DECIDE, holds
from approvals.db.cursors import take_page
from approvals.exceptions import NotFound
from approvals.models import AuditEntry
from approvals.models.people import Invitation, Right, Role, RoleName
from approvals.text.text import visible

PAGE = 50
#: Days and entries that are searched for account changes to show beside a pending change.
LOOK_BACK = timedelta(days=30)
MAX_LOOKED_AT = 500
ACCOUNT_EVENTS = ("person.changed", "person.invited", "admin.changed")


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person with the names of their roles and teams. `own`: they have rights outside their roles."""

    user: User
    roles: Sequence[str]
    teams: Sequence[str]
    own: bool
    #: The person's open invitation.
    invitation: Invitation | None = None


def people(*, search: str = "", after: str = "") -> tuple[list[PersonRow], str]:
    """Return a page of people by username, and the username to continue after; empty if there are no more."""
    users = User.objects.order_by("username").filter(username__gt=after)
    if search:
        users = users.filter(
            Q(username__icontains=search)
            | Q(first_name__icontains=search)
            | Q(email__icontains=search)
        )
    shown, more = take_page(users.prefetch_related("groups"), PAGE)
    roles = roles_by_group()
    direct = User.user_permissions.through._default_manager.filter(
        user__in=[user.pk for user in shown]
    )
    own = set(direct.values_list("user_id", flat=True).distinct())
    invitations = Invitation.objects.in_bulk(
        [user.pk for user in shown if not user.last_login]
    )
    rows = [
        _row(user, roles, user.pk in own, invitations.get(user.pk)) for user in shown
    ]
    return rows, shown[-1].username if more else ""


def _row(
    user: User, roles: Mapping[int, str], own: bool, invitation: Invitation | None
) -> PersonRow:
    groups = sorted(user.groups.all(), key=lambda group: group.name)
    names = [roles[group.pk] for group in groups if group.pk in roles]
    return PersonRow(
        user,
        names,
        [group.name for group in groups if group.pk not in roles],
        own,
        invitation,
    )


@dataclass(frozen=True, slots=True)
class AccountChange:
    """A recorded change of an account, with its author and time."""

    words: str
    by: str
    at: datetime


def account_changes(people: Collection[int]) -> Mapping[int, Sequence[AccountChange]]:
    """Return recent changes of these people's addresses and passwords, latest first."""
    changes: dict[int, list[AccountChange]] = {}
    if not people:
        return changes
    entries = AuditEntry.objects.filter(
        event__in=ACCOUNT_EVENTS, at__gte=timezone.now() - LOOK_BACK
    ).order_by("-pk")
    for entry in entries[:MAX_LOOKED_AT]:
        data = entry.data
        person = (
            data.get("row_id")
            if data.get("model") == "auth.user"
            else data.get("user_id")
        )
        if (
            isinstance(person, int)
            and person in people
            and (words := _account_change(entry.event, data))
        ):
            changes.setdefault(person, []).append(
                AccountChange(words, entry.actor_name, entry.at)
            )
    return changes


def _account_change(event: str, data: Mapping[str, Any]) -> str:
    """Return the text of an entry about an account's address or password; empty for other entries."""
    change = data.get("change")
    before = data.get("before") or {}
    after = data.get("after") or {}
    if event == "admin.changed":
        fields = ", ".join(map(str, data.get("fields", ())))
        return (
            _("Changed in the admin: %(fields)s") % {"fields": visible(fields)}
            if fields
            else ""
        )
    if event == "person.invited":
        return (
            _("Invitation link created")
            if str(change).startswith("invited") and not data.get("mailed")
            else ""
        )
    made = data.get("of") if change == "confirmed" else change
    if made == "password_link":
        return _("Password link created")
    if made == "factors":
        return _("Second factors removed")
    address = (
        data.get("value")
        if change == "confirmed" and data.get("of") == "email"
        else after.get("email")
    )
    if address is None or address == before.get("email"):
        return ""
    return _("Email address changed to %(address)s") % {
        "address": visible(str(address)) or _("none")
    }


def names_of_roles(names: Sequence[str]) -> str:
    """Return the labels of roles."""
    return ", ".join(str(RoleName(name).label) for name in names)


def names_of_rights(names: Sequence[str]) -> str:
    """Return the labels of additional rights."""
    return ", ".join(str(Right(name).label) for name in names)


def roles_of(person: User) -> list[str]:
    """Return the stored names of a person's roles."""
    return list(
        Role.objects.filter(group__user=person)
        .order_by("name")
        .values_list("name", flat=True)
    )


def rights_of(person: User) -> list[str]:
    """Return the additional rights that a person holds directly."""
    held = person.user_permissions.filter(
        content_type__app_label="approvals", codename__in=Right.values
    )
    return sorted(held.values_list("codename", flat=True))


def rights_through_teams(person: User) -> list[str]:
    """Return the labels of additional rights that a person has through groups."""
    held = Permission.objects.filter(
        group__user=person,
        content_type__app_label="approvals",
        codename__in=Right.values,
    )
    return [
        str(Right(name).label)
        for name in sorted(set(held.values_list("codename", flat=True)))
    ]


def other_permissions_of(person: User) -> list[str]:
    """Return the names of directly held permissions that the person's page cannot change."""
    rights = Q(content_type__app_label="approvals", codename__in=Right.values)
    return sorted(
        person.user_permissions.exclude(rights).values_list("name", flat=True)
    )


def roles_by_group() -> dict[int, str]:
    """Return the labels of roles by group id."""
    return {role.group_id: str(role) for role in Role.objects.all()}


def teams() -> QuerySet[Group]:
    """Return the groups that are not roles."""
    return Group.objects.filter(role=None)


def find_team(team_id: int) -> Group:
    """Return a team. Raise NotFound."""
    team = teams().filter(pk=team_id).first()
    if team is None:
        raise NotFound(_("Team not found. Someone may have removed it."))
    return team


def teams_with_sizes() -> QuerySet[Group]:
    """Return the teams by name, each annotated with its number of people as `size`."""
    return teams().annotate(size=Count("user")).order_by("name")


def other_deciders_exist(person_id: int) -> bool:
    """Return whether anyone but this person may decide."""
    decide = holds(DECIDE, "pk")
    return User.objects.filter(decide, is_active=True).exclude(pk=person_id).exists()
