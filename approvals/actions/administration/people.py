"""Add people, change their roles and teams, deactivate them and activate them again; make, rename and remove teams."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions.administration.roles import give_roles
from approvals.actions.keys import revoke_keys_of
from approvals.actions.logins import SUBJECT
from approvals.actions.personal.sessions import end_all_sessions
from approvals.exceptions import Conflict, NotAllowed, NotFound
from approvals.live import doorbell
from approvals.models import Invitation
from approvals.queries.administration.people import roles_of, teams
from approvals.record import audit
from approvals.runtime import transactions
from approvals.states import Door

#: The name of the lock that everyone takes who may take rights away, so that two cannot remove each other.
LOCK = "administrators"


def add_person(*, username: str, email: str, roles: Collection[str], by: User) -> User:
    """Create a person without a password, on record; an invitation lets them choose one. Conflict if the name is taken."""
    with transaction.atomic():
        transactions.lock_name(LOCK)
        if User.objects.filter(username__iexact=username).exists():
            raise Conflict(_("Somebody has this username already. Choose another one."))
        person = User(username=username, email=email)
        person.set_unusable_password()
        person.save()
        give_roles(person, roles)
        _record("person.created", person, {"email": email, "roles": sorted(roles)}, by)
    return person


def change_person(person_id: int, *, email: str, roles: Collection[str], team_ids: Collection[int], by: User) -> User:
    """Change a person's mail address, roles and teams, on record. NotFound, NotAllowed, Conflict."""
    with transaction.atomic():
        transactions.lock_name(LOCK)
        person = changeable_person(person_id, by)
        before = _described(person)
        person.email = email
        person.save(update_fields=["email"])
        give_roles(person, roles)
        known = teams()
        person.groups.remove(*known.exclude(pk__in=team_ids))
        person.groups.add(*known.filter(pk__in=team_ids))
        _require_an_administrator()
        after = _described(person)
        if before != after:
            _record("person.changed", person, {"before": before, "after": after}, by)
    return person


def set_active(person_id: int, *, active: bool, by: User) -> User:
    """Activate a person, or deactivate them, which ends their sessions and revokes their keys. NotFound, Conflict."""
    with transaction.atomic():
        transactions.lock_name(LOCK)
        person = changeable_person(person_id, by)
        if not active and person.pk == by.pk:
            raise Conflict(_("You cannot deactivate yourself. Ask another administrator."))
        if person.is_active == active:
            return person
        person.is_active = active
        person.save(update_fields=["is_active"])
        _require_an_administrator()
        data: dict[str, object] = {"active": active}
        if not active:
            revoke_keys_of(person, by=by, via=Door.DASHBOARD)
            Invitation.objects.filter(person=person).delete()
            data["sessions_ended"] = end_all_sessions(person)
            message = {"type": "session.ended"}
            transaction.on_commit(partial(doorbell.notify, doorbell.user_group(person.pk), message))
        _record("person.changed", person, data, by)
    return person


def allow_password_link(person_id: int, *, by: User) -> User:
    """Return the person for whom this administrator makes a link that sets a password, on record: whoever has it can log in.

    Raises NotFound, NotAllowed.
    """
    with transaction.atomic():
        person = changeable_person(person_id, by)
        if not person.is_active:
            raise NotFound(_("Person not found."))
        _record("person.changed", person, {"change": "password_link"}, by)
    return person


def add_team(name: str, *, by: User) -> Group:
    """Make a team, on record. Conflict if there is a team or role of this name."""
    with transaction.atomic():
        transactions.lock_name(LOCK)
        _require_free_name(name)
        team = Group.objects.create(name=name)
        _record_team(name, {"change": "created"}, by)
    return team


def change_team(team_id: int, name: str, *, by: User) -> None:
    """Rename a team, on record. NotFound, Conflict."""
    with transaction.atomic():
        transactions.lock_name(LOCK)
        team = teams().filter(pk=team_id).first()
        if team is None:
            raise NotFound(_("Team not found. Somebody may have removed it."))
        if team.name == name:
            return
        _require_free_name(name)
        data = {"change": "renamed", "before": team.name}
        team.name = name
        team.save(update_fields=["name"])
        _record_team(name, data, by)


def remove_team(team_id: int, *, by: User) -> None:
    """Remove a team, on record; its people stay. NotFound, Conflict if nobody could administer afterwards."""
    with transaction.atomic():
        transactions.lock_name(LOCK)
        team = teams().filter(pk=team_id).first()
        if team is None:
            raise NotFound(_("Team not found. Somebody may have removed it."))
        people = sorted(team.user_set.values_list("username", flat=True)[:100])
        team.delete()
        _require_an_administrator()
        _record_team(team.name, {"change": "removed", "people": people}, by)


def changeable_person(person_id: int, by: User) -> User:
    """Return the locked person if this administrator may change them. NotFound, NotAllowed."""
    person = User.objects.select_for_update(no_key=True).filter(pk=person_id).first()
    if person is None:
        raise NotFound(_("Person not found."))
    if person.is_superuser and not by.is_superuser:
        raise NotAllowed(_("Only another superuser can change a superuser."))
    return person


def _require_an_administrator() -> None:
    """Raise Conflict unless an active person may still administer, which undoes the transaction."""
    if not permissions.administrators().exists():
        raise Conflict(_("Nobody could manage Pausepoint anymore. Make somebody else an administrator first."))


def _require_free_name(name: str) -> None:
    if Group.objects.filter(name__iexact=name).exists():
        raise Conflict(_("There is a team or role of this name already. Choose another one."))


def _described(person: User) -> dict[str, object]:
    names = teams().filter(user=person).order_by("name").values_list("name", flat=True)
    return {"email": person.email, "roles": sorted(roles_of(person)), "teams": list(names)}


def _record(event: str, person: User, data: Mapping[str, object], by: User) -> None:
    about = {"user": person.get_username(), "user_id": person.pk}
    audit.record(event, SUBJECT, data=about | dict(data), actor=by, via=Door.DASHBOARD)


def _record_team(name: str, data: Mapping[str, object], by: User) -> None:
    audit.record("team.changed", SUBJECT, data={"team": name} | dict(data), actor=by, via=Door.DASHBOARD)
