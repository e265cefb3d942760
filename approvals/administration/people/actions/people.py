"""Add people, change their roles and teams, deactivate them and activate them again; make, rename and remove teams."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import permissions, standing_in
from approvals.access.rights import DECIDE
from approvals.access.usernames import validate_new_username
from approvals.actions.logins import SUBJECT, end_all_sessions
from approvals.actions.policy.standing_changes import standing_changed
from approvals.administration.account_mails import Change, tell_person
from approvals.administration.changeable import (
    changeable_person,
    lock_people,
    needs_second,
    protected_roles,
    waits_for_second,
)
from approvals.administration.keys.actions import revoke_keys_of
from approvals.administration.people.actions.confirming import names_of_rights, names_of_roles, request_change
from approvals.administration.people.actions.roles import give_rights, give_roles
from approvals.administration.people.queries import rights_of, roles_of, teams
from approvals.db import transactions
from approvals.exceptions import Conflict, NotAllowed, NotFound
from approvals.live import doorbell
from approvals.models import ApproverScope, Invitation, PendingChange
from approvals.queries.policy.givers import powers_of_givers
from approvals.queries.policy.ruling import needs_second_person, teams_in_force
from approvals.record import audit
from approvals.states import Door

Kind = PendingChange.Kind


def add_person(*, username: str, email: str, roles: Collection[str], by: User) -> User:
    """Create a person without a password, on record; an invitation lets them choose one. Conflict if the name is taken.

    Roles that decide or administer wait for another administrator.
    """
    with transaction.atomic():
        lock_people(by)
        if User.objects.filter(username__iexact=username).exists():
            raise Conflict(_("That username is taken. Choose another one."))
        try:
            validate_new_username(username)
        except ValidationError as error:
            raise Conflict(" ".join(error.messages)) from None
        person = User(username=username, email=email)
        person.set_unusable_password()
        person.save()
        waiting = protected_roles(roles) if needs_second(by) else set()
        granted = sorted(set(roles) - waiting)
        give_roles(person, granted)
        _record("person.created", person, {"email": email, "roles": granted}, by)
        if granted:
            standing_changed({})
        if waiting:
            request_change(person, Kind.ROLES, sorted(waiting), by=by)
    return person


def change_person(
    person_id: int,
    *,
    email: str,
    roles: Collection[str],
    team_ids: Collection[int],
    by: User,
    rights: Collection[str] | None = None,
) -> list[PendingChange]:
    """Change a person's mail address, roles, rights and teams, on record; return what waits for another administrator.

    Without `rights`, the additional rights stay. Raises NotFound, NotAllowed, Conflict.
    """
    with transaction.atomic():
        lock_people(by)
        person = changeable_person(person_id, by)
        powers = powers_of_givers([person.pk])
        before, held = _described(person), set(roles_of(person))
        if person.pk == by.pk and set(roles) != held:
            raise NotAllowed(_("You cannot change your own roles. Ask another administrator."))
        had = set(rights_of(person))
        wanted = had if rights is None else set(rights)
        if person.pk == by.pk and wanted != had:
            raise NotAllowed(_("You cannot change your own rights. Ask another administrator."))
        waiting: dict[Kind, object] = {}
        if needs_second(by) and (protected := protected_roles(set(roles) - held)):
            waiting[Kind.ROLES] = sorted(protected)
            roles = set(roles) - protected
        if needs_second(by) and wanted - had:
            waiting[Kind.RIGHTS], wanted = sorted(wanted - had), wanted & had
        if email != person.email and person.pk != by.pk and waits_for_second(person, by):
            # Whoever reads the mail of a person can log in as them.
            waiting[Kind.EMAIL], email = email, person.email
            tell_person(person, Change.EMAIL_REQUESTED, by=by, detail=str(waiting[Kind.EMAIL]))
        if email != person.email:
            tell_person(person, Change.EMAIL, by=by, detail=email, also_to=email)
            person.email = email
            person.save(update_fields=["email"])
        give_roles(person, roles)
        _tell_of_roles(person, held, set(roles), by)
        give_rights(person, wanted)
        _tell_of_rights(person, had, wanted, by)
        _change_teams(person, team_ids, by)
        _require_an_administrator()
        after = _described(person)
        if before != after:
            standing_changed(powers)
            _record("person.changed", person, {"before": before, "after": after}, by)
        return [request_change(person, kind, value, by=by) for kind, value in waiting.items()]


def _tell_of_roles(person: User, before: Collection[str], after: Collection[str], by: User) -> None:
    added, removed = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    if added:
        tell_person(person, Change.ROLES, by=by, detail=names_of_roles(added))
    if removed:
        tell_person(person, Change.ROLES_REMOVED, by=by, detail=names_of_roles(removed))


def _tell_of_rights(person: User, before: Collection[str], after: Collection[str], by: User) -> None:
    added, removed = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    if added:
        tell_person(person, Change.RIGHTS, by=by, detail=names_of_rights(added))
    if removed:
        tell_person(person, Change.RIGHTS_REMOVED, by=by, detail=names_of_rights(removed))


def _change_teams(person: User, team_ids: Collection[int], by: User) -> None:
    """Let a person be in exactly these teams. NotAllowed for one that gives permissions, unless this is a superuser."""
    current = set(teams().filter(user=person).values_list("pk", flat=True))
    wanted = set(teams().filter(pk__in=team_ids).values_list("pk", flat=True))
    for team in teams().filter(pk__in=current ^ wanted):
        _require_team_without_rights(team, by)
    person.groups.remove(*(current - wanted))
    # By joining a team, who decides would widen what they may decide; and so if someone joins for whom they decide.
    decides_as = {by.pk, *standing_in.away_for(by)}
    widens = person.pk in decides_as and not by.is_superuser and by.has_perm(DECIDE)
    named_by_scope = widens and ApproverScope.objects.filter(teams__in=wanted - current).exists()
    named_by_policy = widens and needs_second_person() and bool(teams_in_force() & (wanted - current))
    if (named_by_scope or named_by_policy) and person.pk != by.pk:
        message = _("You decide for %(name)s at the moment. Ask another administrator to add them to this team.")
        raise NotAllowed(message % {"name": person.get_username()})
    if named_by_scope:
        raise NotAllowed(_("You cannot join a team that an approver scope names. Ask another administrator."))
    if named_by_policy:
        raise NotAllowed(_("You cannot join a team that the policy names. Ask another administrator."))
    person.groups.add(*(wanted - current))


def set_active(person_id: int, *, active: bool, by: User) -> User:
    """Activate a person, or deactivate them, which ends their sessions and revokes their keys. NotFound, Conflict."""
    with transaction.atomic():
        lock_people(by)
        person = changeable_person(person_id, by)
        if not active and person.pk == by.pk:
            raise Conflict(_("You cannot deactivate yourself. Ask another administrator."))
        if person.is_active == active:
            return person
        powers = powers_of_givers([person.pk])
        person.is_active = active
        person.save(update_fields=["is_active"])
        _require_an_administrator()
        standing_changed(powers)
        data: dict[str, object] = {"active": active}
        if not active:
            revoke_keys_of(person, by=by, via=Door.DASHBOARD)
            Invitation.objects.filter(person=person).delete()
            data["sessions_ended"] = end_all_sessions(person)
            message = {"type": "session.ended"}
            transactions.after_commit(doorbell.notify, doorbell.user_group(person.pk), message)
        _record("person.changed", person, data, by)
    return person


def allow_password_link(person_id: int, *, by: User) -> PendingChange | None:
    """Allow this administrator to make a link that sets a password, on record: whoever has it can log in.

    Return the request for it where another administrator has to confirm it. Raises NotFound, NotAllowed.
    """
    with transaction.atomic():
        lock_people(by)
        person = changeable_person(person_id, by)
        if not person.is_active:
            raise NotFound(_("Person not found."))
        if waits_for_second(person, by):
            tell_person(person, Change.LINK_REQUESTED, by=by)
            return request_change(person, Kind.LINK, None, by=by)
        _record("person.changed", person, {"change": "password_link"}, by)
        tell_person(person, Change.LINK, by=by)
    return None


def add_team(name: str, *, by: User) -> Group:
    """Make a team, on record. Conflict if there is a team or role of this name."""
    with transaction.atomic():
        lock_people(by)
        _require_free_name(name)
        team = Group.objects.create(name=name)
        _record_team(name, {"change": "created"}, by)
    return team


def change_team(team_id: int, name: str, *, by: User) -> None:
    """Rename a team, on record. NotFound, Conflict."""
    with transaction.atomic():
        lock_people(by)
        team = teams().filter(pk=team_id).first()
        if team is None:
            raise NotFound(_("Team not found. Someone may have removed it."))
        if team.name == name:
            return
        _require_team_without_rights(team, by)
        _require_free_name(name)
        data = {"change": "renamed", "before": team.name}
        team.name = name
        team.save(update_fields=["name"])
        _record_team(name, data, by)


def remove_team(team_id: int, *, by: User) -> None:
    """Remove a team, on record; its people stay. NotFound, Conflict if no one could administer afterwards."""
    with transaction.atomic():
        lock_people(by)
        team = teams().filter(pk=team_id).first()
        if team is None:
            raise NotFound(_("Team not found. Someone may have removed it."))
        _require_team_without_rights(team, by)
        people = sorted(team.user_set.values_list("username", flat=True)[:100])
        powers = powers_of_givers(team.user_set.values_list("pk", flat=True))
        team.delete()
        standing_changed(powers)
        _require_an_administrator()
        _record_team(team.name, {"change": "removed", "people": people}, by)


def _require_team_without_rights(team: Group, by: User) -> None:
    """Raise NotAllowed for a group with permissions, which someone gave it in Django's admin, unless this is a superuser."""
    if not by.is_superuser and team.permissions.exists():
        raise NotAllowed(
            _("The team %(name)s gives permissions. Only a superuser can change who is in it.") % {"name": team.name}
        )


def _require_an_administrator() -> None:
    """Raise Conflict unless an active person may still administer, which undoes the transaction."""
    if not permissions.administrators().exists():
        raise Conflict(_("No one could manage Pausepoint after this. Make someone else an administrator first."))


def _require_free_name(name: str) -> None:
    if Group.objects.filter(name__iexact=name).exists():
        raise Conflict(_("A team or role with this name already exists. Choose another one."))


def _described(person: User) -> dict[str, object]:
    names = teams().filter(user=person).order_by("name").values_list("name", flat=True)
    return {
        "email": person.email,
        "roles": sorted(roles_of(person)),
        "rights": rights_of(person),
        "teams": list(names),
    }


def _record(event: str, person: User, data: Mapping[str, object], by: User) -> None:
    about = {"user": person.get_username(), "user_id": person.pk}
    audit.record(event, SUBJECT, data=about | dict(data), actor=by, via=Door.DASHBOARD)


def _record_team(name: str, data: Mapping[str, object], by: User) -> None:
    audit.record("team.changed", SUBJECT, data={"team": name} | dict(data), actor=by, via=Door.DASHBOARD)
