"""Add people, change their roles and teams, and deactivate or reactivate them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.standing import Standing
from approvals.access.usernames import validate_new_username
from approvals.actions.changes import record_alone, request_change
from approvals.actions.channels.links import unlink_person
from approvals.actions.locking import lock_rights
from approvals.actions.logins import EndReason, end_sessions
from approvals.actions.policy.standing_changes import (
    NOTHING_TO_LOSE,
    standing_before,
    standing_changed,
)
from approvals.administration.account_mails import (
    AccountMailReason,
    tell_of_own_change,
    tell_person,
)
from approvals.administration.changeable import (
    changeable_person,
    is_protected,
    lock_people,
    protected_roles,
    record_person,
    waits_for_second,
)
from approvals.administration.keys.actions import revoke_keys_of
from approvals.administration.people.actions.roles import (
    give_rights,
    give_roles,
    require_an_administrator,
)
from approvals.administration.people.actions.teams import change_teams
from approvals.administration.people.queries import (
    names_of_rights,
    names_of_roles,
    rights_of,
    roles_of,
    teams,
)
from approvals.exceptions import Conflict, NotAllowed, NotFound
from approvals.models import Invitation, PendingChange, ScimPerson
from approvals.models.actors import Actor
from approvals.models.people import RoleName
from approvals.states import Door

Kind = PendingChange.Kind


def add_person(*, username: str, email: str, roles: Collection[str], by: User) -> User:
    """Create a person without a password, on record; an invitation lets them choose one. Raise Conflict if the name is taken.

    Roles that decide or administer need another administrator.
    """
    with transaction.atomic():
        standing = lock_people(by)
        if User.objects.filter(username__iexact=username).exists():
            raise Conflict(_("That username is taken. Choose another one."))
        try:
            validate_new_username(username)
        except ValidationError as error:
            raise Conflict(" ".join(error.messages)) from None
        person = User(username=username, email=email)
        person.set_unusable_password()
        person.save()
        protected = protected_roles(roles)
        waiting = protected if needs_second(standing) else set()
        granted = sorted(set(roles) - waiting)
        give_roles(person, granted)
        record_person(
            "person.created", person, {"email": email, "roles": granted}, by=by
        )
        if granted:
            standing_changed(NOTHING_TO_LOSE)
        if waiting:
            request_change(
                Kind.ROLES, sorted(waiting), person=person, by=by, via=Door.DASHBOARD
            )
        elif protected:
            _record_alone(Kind.ROLES, person, by)
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
    """Change a person's mail address, roles, rights and teams, on record; return the changes that need another administrator.

    Without `rights`, the additional rights stay. Raise NotFound, NotAllowed or Conflict.
    """
    with transaction.atomic():
        standing = lock_people(by)
        person = changeable_person(person_id, standing)
        before_change = standing_before([person.pk])
        before = described(person)
        held = set(roles_of(person))
        had = set(rights_of(person))
        wanted: Set[str] = had if rights is None else set(rights)
        if person.pk == by.pk:
            _require_same_powers(set(roles) == held, wanted == had)
        change = _Change(person, by, standing)
        roles = _roles_at_once(change, set(roles), held)
        wanted = _rights_at_once(change, wanted, had)
        email = _email_at_once(change, email)
        if email != person.email:
            tell_person(
                person, AccountMailReason.EMAIL, by=by, detail=email, also_to=email
            )
            write_email(person, email)
        give_roles(person, roles)
        _tell_of_roles(person, held, roles, by)
        give_rights(person, wanted)
        _tell_of_rights(person, had, wanted, by)
        more_teams = change_teams(person, team_ids, by=by, standing=standing)
        if more_teams is not None:
            change.waiting[Kind.TEAMS] = more_teams
        require_an_administrator()
        after = described(person)
        if before != after:
            standing_changed(before_change)
            record_person(
                "person.changed", person, {"before": before, "after": after}, by=by
            )
        return [
            request_change(kind, value, person=person, by=by, via=Door.DASHBOARD)
            for kind, value in change.waiting.items()
        ]


def _require_same_powers(same_roles: bool, same_rights: bool) -> None:
    if not same_roles:
        raise NotAllowed(
            _("You cannot change your own roles. Ask another administrator.")
        )
    if not same_rights:
        raise NotAllowed(
            _("You cannot change your own rights. Ask another administrator.")
        )


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a person, and the parts of it that are `waiting` for another administrator."""

    person: User
    by: User
    standing: Standing
    waiting: dict[Kind, object] = field(default_factory=dict)


def _roles_at_once(change: _Change, roles: Set[str], held: Set[str]) -> Set[str]:
    """Return the roles to set at once; the others wait."""
    protected = protected_roles(roles - held)
    if protected and not needs_second(change.standing):
        _record_alone(Kind.ROLES, change.person, change.by)
    elif protected:
        change.waiting[Kind.ROLES] = sorted(protected)
        roles = roles - protected
    if RoleName.ADMINISTRATOR in held - roles and needs_second(change.standing):
        # Otherwise one administrator could remove the others and then loosen everything alone.
        change.waiting[Kind.ROLE_TAKEN] = [RoleName.ADMINISTRATOR.value]
        roles = roles | {RoleName.ADMINISTRATOR.value}
    return roles


def _rights_at_once(change: _Change, rights: Set[str], held: Set[str]) -> Set[str]:
    """Return the rights to set at once; the others wait."""
    if not rights - held:
        return rights
    if needs_second(change.standing):
        change.waiting[Kind.RIGHTS] = sorted(rights - held)
        return rights & held
    _record_alone(Kind.RIGHTS, change.person, change.by)
    return rights


def _email_at_once(change: _Change, email: str) -> str:
    """Return the mail address to set at once: the present one, if the new one waits."""
    person = change.person
    if email == person.email or person.pk == change.by.pk:
        return email
    if waits_for_second(person, change.standing):
        # Anyone who can read the person's mail can log in as them.
        change.waiting[Kind.EMAIL] = email
        reason = AccountMailReason.EMAIL_REQUESTED
        tell_person(person, reason, by=change.by, detail=email)
        return person.email
    if is_protected(person):
        _record_alone(Kind.EMAIL, person, change.by)
    return email


def _tell_of_names(
    person: User,
    before: Collection[str],
    after: Collection[str],
    by: User,
    *,
    added: AccountMailReason,
    removed: AccountMailReason,
    named: Callable[[Sequence[str]], str],
) -> None:
    for reason, names in (
        (added, set(after) - set(before)),
        (removed, set(before) - set(after)),
    ):
        if names:
            tell_person(person, reason, by=by, detail=named(sorted(names)))


_tell_of_roles = partial(
    _tell_of_names,
    added=AccountMailReason.ROLES,
    removed=AccountMailReason.ROLES_REMOVED,
    named=names_of_roles,
)
_tell_of_rights = partial(
    _tell_of_names,
    added=AccountMailReason.RIGHTS,
    removed=AccountMailReason.RIGHTS_REMOVED,
    named=names_of_rights,
)


def write_email(person: User, email: str) -> None:
    person.email = email
    person.save(update_fields=["email"])


def set_active(
    person_id: int, *, active: bool, by: Actor, via: Door = Door.DASHBOARD
) -> User:
    """Activate a person, or deactivate them, end their sessions and revoke their keys. Raise NotFound or Conflict.

    By SCIM, the administrator for whom the key acts can be deactivated as well, which revokes that key.
    """
    with transaction.atomic():
        standing = lock_people(by)
        person = changeable_person(person_id, standing)
        if not active and person.pk == by.pk and via == Door.DASHBOARD:
            raise Conflict(
                _("You cannot deactivate yourself. Ask another administrator.")
            )
        if person.is_active == active:
            return person
        before_change = standing_before([person.pk])
        person.is_active = active
        person.save(update_fields=["is_active"])
        require_an_administrator()
        by_scim = via == Door.SCIM and not active
        ScimPerson.objects.filter(person=person).update(deactivated_here=by_scim)
        data: dict[str, object] = {"active": active}
        if not active:
            revoke_keys_of(person, by=by, via=via)
            Invitation.objects.filter(person=person).delete()
            unlink_person(person, by=by, via=via)
            data["sessions_ended"] = end_sessions(person.pk, EndReason.DEACTIVATED)
        standing_changed(before_change)
        record_person("person.changed", person, data, by=by, via=via)
    return person


def allow_password_link(person_id: int, *, by: User) -> PendingChange | None:
    """Allow this administrator to create a link that sets the person's password, on record: with it, anyone can log in.

    Return the pending change if another administrator has to confirm it. Raise NotFound or NotAllowed.
    """
    with transaction.atomic():
        standing = lock_people(by)
        person = changeable_person(person_id, standing)
        if not person.is_active:
            raise NotFound(_("Person not found."))
        reason = AccountMailReason.LINK_REQUESTED
        if waiting := _second_needed(Kind.LINK, person, standing, reason, by=by):
            return waiting
        record_person("person.changed", person, {"change": "password_link"}, by=by)
        tell_person(person, AccountMailReason.LINK, by=by)
    return None


def reset_factors(person_id: int, *, by: User) -> PendingChange | None:
    """Remove all second factors of a person who has lost them, on record, and end their sessions.

    Return the pending change if another administrator has to confirm it. Raise NotFound or NotAllowed.
    """
    with transaction.atomic():
        standing = lock_people(by)
        person = changeable_person(person_id, standing)
        if person.pk == by.pk:
            raise NotAllowed(
                _("You cannot reset your own factors. Ask another administrator.")
            )
        reason = AccountMailReason.FACTORS_RESET_REQUESTED
        if waiting := _second_needed(Kind.FACTORS, person, standing, reason, by=by):
            return waiting
        record_person("person.changed", person, {"change": "factors"}, by=by)
        remove_factors(person, by=by)
    return None


def remove_factors(person: User, *, by: User | None) -> None:
    """Remove all second factors of a person, end their sessions, and tell them. `by` is None for a command on the server."""
    Authenticator.objects.filter(user=person).delete()
    end_sessions(person.pk, EndReason.FACTORS)
    if by is None:
        tell_of_own_change(person, AccountMailReason.FACTORS_RESET_ON_SERVER, "")
    else:
        tell_person(person, AccountMailReason.FACTORS_RESET, by=by)


def reset_factors_on_server(username: str) -> None:
    """Remove all second factors of a person at the command of someone on the server, on record. Raise NotFound or Conflict."""
    with transaction.atomic():
        lock_rights()
        person = User.objects.filter(username=username).first()
        if person is None:
            raise NotFound(_("No user is named %(user)r.") % {"user": username})
        if not Authenticator.objects.filter(user=person).exists():
            raise Conflict(_("%(user)r has no second factor.") % {"user": username})
        data = {"change": "factors"}
        record_person("person.changed", person, data, by=None, via=Door.SYSTEM)
        remove_factors(person, by=None)


def described(person: User) -> dict[str, object]:
    names = teams().filter(user=person).order_by("name").values_list("name", flat=True)
    return {
        "email": person.email,
        "roles": sorted(roles_of(person)),
        "rights": rights_of(person),
        "teams": list(names),
    }


def _second_needed(
    kind: Kind, person: User, standing: Standing, reason: AccountMailReason, *, by: User
) -> PendingChange | None:
    """Request a change from another administrator, and tell the person; if one is enough, record that and return None."""
    if waits_for_second(person, standing):
        tell_person(person, reason, by=by)
        return request_change(kind, None, person=person, by=by, via=Door.DASHBOARD)
    if is_protected(person):
        _record_alone(kind, person, by)
    return None


def _record_alone(kind: Kind, person: User, by: User) -> None:
    record_alone(
        kind, user=person.get_username(), user_id=person.pk, by=by, via=Door.DASHBOARD
    )
