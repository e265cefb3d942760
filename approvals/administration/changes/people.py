"""Changes of people's access: roles, rights, teams, mail addresses, and links that set a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.access.standing import Standing
from approvals.actions.policy.standing_changes import (
    NOTHING_TO_LOSE,
    standing_before,
    standing_changed,
)
from approvals.administration.account_mails import AccountMailReason, tell_person
from approvals.administration.changes.noun import Noun
from approvals.administration.people.actions.people import (
    remove_factors,
    write_email,
)
from approvals.administration.people.actions.roles import (
    add_rights,
    add_roles,
    remove_roles,
)
from approvals.administration.people.actions.teams import (
    join_and_leave,
    require_no_own_teams,
)
from approvals.administration.people.queries import (
    account_changes,
    names_of_rights,
    names_of_roles,
    rights_of,
    roles_of,
    teams,
)
from approvals.models import PendingChange
from approvals.text.names import marked_name
from approvals.text.text import visible


def person_of(change: PendingChange) -> User:
    """Return the person whose access a change is about; changes of these kinds always have one."""
    assert change.person is not None
    return change.person


def name_of(change: PendingChange) -> str:
    return marked_name(person_of(change).get_username())


def _listed(ids: list[int], names: dict[int, str]) -> str:
    return ", ".join(visible(names.get(pk, f"#{pk}")) for pk in ids)


class OfPerson(Noun):
    """A change of a person's access. Their account, its subject, is shown beside it."""

    def now(self, change: PendingChange) -> dict[str, Any]:
        """Return the person's account as it is now and its recent changes; both are shown beside the change."""
        person = User.objects.get(pk=person_of(change).pk)
        earlier = account_changes({person.pk}).get(person.pk, ())
        return {
            "username": person.get_username(),
            "email": person.email,
            "active": person.is_active,
            "roles": roles_of(person),
            "rights": rights_of(person),
            "teams": sorted(teams().filter(user=person).values_list("pk", flat=True)),
            "changed": [each.at.isoformat() for each in earlier],
        }

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:person", args=[person_of(change).pk])


class Roles(OfPerson):
    def words(self, change: PendingChange) -> str:
        return _("Give %(name)s these roles: %(roles)s") % {
            "name": name_of(change),
            "roles": names_of_roles(change.value),
        }

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        add_roles(person_of(change), change.value)
        standing_changed(NOTHING_TO_LOSE)
        tell_person(
            person_of(change),
            AccountMailReason.ROLES,
            by=by,
            detail=names_of_roles(change.value),
        )


class RoleTaken(OfPerson):
    def words(self, change: PendingChange) -> str:
        words = {"name": name_of(change), "roles": names_of_roles(change.value)}
        return _("Remove these roles from %(name)s: %(roles)s") % words

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        before_change = standing_before([person_of(change).pk])
        remove_roles(person_of(change), change.value)
        standing_changed(before_change)
        tell_person(
            person_of(change),
            AccountMailReason.ROLES_REMOVED,
            by=by,
            detail=names_of_roles(change.value),
        )


class Rights(OfPerson):
    def words(self, change: PendingChange) -> str:
        words = {"name": name_of(change), "rights": names_of_rights(change.value)}
        return _("Give %(name)s these additional rights: %(rights)s") % words

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        add_rights(person_of(change), change.value)
        standing_changed(NOTHING_TO_LOSE)
        tell_person(
            person_of(change),
            AccountMailReason.RIGHTS,
            by=by,
            detail=names_of_rights(change.value),
        )


class Email(OfPerson):
    def words(self, change: PendingChange) -> str:
        address = visible(change.value) or _("none")
        return _("Change the email address of %(name)s to %(address)s") % {
            "name": name_of(change),
            "address": address,
        }

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        tell_person(
            person_of(change),
            AccountMailReason.EMAIL,
            by=by,
            detail=change.value,
            also_to=change.value,
        )
        write_email(person_of(change), change.value)


class Link(OfPerson):
    def words(self, change: PendingChange) -> str:
        return _("Create a link that sets the password of %(name)s") % {
            "name": name_of(change)
        }

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        """Notify the person. The caller makes the link and shows it to this administrator."""
        tell_person(person_of(change), AccountMailReason.LINK, by=by)


class Factors(OfPerson):
    def words(self, change: PendingChange) -> str:
        return _("Remove all second factors of %(name)s") % {"name": name_of(change)}

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        remove_factors(person_of(change), by=by)


class Teams(OfPerson):
    def words(self, change: PendingChange) -> str:
        ids = {*change.value["join"], *change.value["leave"]}
        names = dict(Group.objects.filter(pk__in=ids).values_list("pk", "name"))
        joined, left = (_listed(change.value[way], names) for way in ("join", "leave"))
        words = {"name": name_of(change), "joined": joined, "left": left}
        if not left:
            return _("Add %(name)s to these teams: %(joined)s") % words
        if not joined:
            return _("Remove %(name)s from these teams: %(left)s") % words
        return (
            _("Add %(name)s to these teams: %(joined)s. Remove them from: %(left)s")
            % words
        )

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        join_and_leave(person_of(change), change.value, by=by)

    def require_other(self, change: PendingChange, by: Standing) -> None:
        require_no_own_teams(person_of(change), change.value["join"], by=by)
