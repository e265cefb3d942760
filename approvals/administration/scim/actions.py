"""Create, change and delete the people and groups of an identity provider, on record, with the actor of its key.

The caller holds the lock of `lock_people`. Each raises Conflict, Invalid, NotAllowed or NotFound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.administrators import break_glass_account
from approvals.access.callers import SCIM
from approvals.access.standing import standing_of
from approvals.access.usernames import (
    clean_display_name,
    validate_display_name,
    validate_new_username,
)
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.standing_changes import (
    standing_before,
    standing_changed,
)
from approvals.administration.account_mails import AccountMailReason, tell_person
from approvals.administration.changeable import (
    changeable_person,
    is_protected,
    record_person,
)
from approvals.administration.people.actions.people import set_active
from approvals.administration.people.actions.roles import require_an_administrator
from approvals.administration.people.actions.single_sign_on import follow_scim_groups
from approvals.administration.scim.queries import seen_group, seen_people, seen_person
from approvals.db.canonical_json import clean_text
from approvals.exceptions import Conflict, Invalid, NotAllowed
from approvals.models import GroupMapping, ScimGroup, ScimPerson, ScimRefusal
from approvals.models.actors import Actor, KeyActor
from approvals.models.scim import MAX_NAME
from approvals.record import audit
from approvals.states import Door

#: Refused changes that are kept.
MAX_REFUSALS = 20
#: Names that the record of a group lists.
MAX_NAMES = 100


class NameTaken(Conflict):
    """Another person or group has this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """What the provider states about a person; `active` is None if it does not say."""

    username: str
    email: str = ""
    external_id: str = ""
    active: bool | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What the provider states about a group."""

    name: str
    external_id: str = ""
    people: Collection[int] = ()


def create_person(stated: Person, *, by: Actor) -> User:
    """Create a person without a password. If the provider deleted one of this username, the same account comes back, empty."""
    _check_length(stated.username, stated.external_id)
    former = User.objects.filter(username__iexact=stated.username).first()
    if former is not None:
        deleted = ScimPerson.objects.filter(person=former, deleted_at__isnull=False)
        if not deleted.update(deleted_at=None):
            raise NameTaken(_("That username is taken."))
        return change_person(former.pk, stated, by=by)
    _check(stated, None)
    person = User(username=stated.username, email=stated.email)
    person.is_active = stated.active is not False
    person.set_unusable_password()
    person.save()
    row = ScimPerson(person=person, created_here=True)
    row.deactivated_here = not person.is_active
    _store(row, stated)
    data = {"email": person.email, "roles": [], "active": person.is_active}
    record_person("person.created", person, data, by=by, via=Door.SCIM)
    return person


def change_person(person_id: int, stated: Person, *, by: Actor) -> User:
    """Change a person's account, and activate or deactivate them."""
    person = _changeable(person_id, by)
    row, _new = ScimPerson.objects.get_or_create(person=person)
    before = {"username": person.username, "email": person.email}
    after = {"username": stated.username, "email": stated.email}
    _check(stated, person)
    if before != after:
        _require_own_account(person, row)
        person.username = stated.username
        person.email = stated.email
        person.save(update_fields=["username", "email"])
        data = {"before": before, "after": after}
        record_person("person.changed", person, data, by=by, via=Door.SCIM)
    if before["email"] != after["email"]:
        detail = after["email"]
        reason = AccountMailReason.EMAIL
        tell_person(person, reason, by=by, detail=detail, also_to=before["email"])
    _store(row, stated)
    if stated.active is not None and stated.active != person.is_active:
        _set_active(person, row, active=stated.active, by=by)
    return person


def delete_person(person_id: int, *, by: Actor) -> None:
    """Deactivate a person, and take everything from the account but its place in the record: roles, teams, rights and log-ins."""
    person = _changeable(person_id, by)
    row, _new = ScimPerson.objects.get_or_create(person=person)
    _set_active(person, row, active=False, by=by)
    before_change = standing_before([person.pk])
    for group in ScimGroup.objects.filter(people=person):
        group.people.remove(person)
    person.groups.clear()
    person.user_permissions.clear()
    require_an_administrator()
    for credentials in (SocialAccount, Authenticator):
        credentials.objects.filter(user=person).delete()
    User.objects.filter(pk=person.pk).update(password=_unusable())
    row.refresh_from_db()
    row.external_id = ""
    row.deleted_at = timezone.now()
    row.save()
    standing_changed(before_change)
    record_person("person.changed", person, {"change": "deleted"}, by=by, via=Door.SCIM)


def _unusable() -> str:
    person = User()
    person.set_unusable_password()
    return person.password


def _set_active(person: User, row: ScimPerson, *, active: bool, by: Actor) -> None:
    if person == break_glass_account():
        raise Conflict(
            _(
                "%(name)s is the break-glass account. Only an administrator can change it, in Pausepoint."
            )
            % {"name": person.get_username()}
        )
    if active and not row.deactivated_here:
        raise Conflict(
            _(
                "An administrator deactivated %(name)s. Only an administrator can activate them, in Pausepoint."
            )
            % {"name": person.get_username()}
        )
    set_active(person.pk, active=active, by=by, via=Door.SCIM)


def _changeable(person_id: int, by: Actor) -> User:
    """Return the locked person. Raise NotFound for deleted people, and NotAllowed for superusers and staff."""
    return changeable_person(seen_person(person_id).pk, standing_of(by))


def _require_own_account(person: User, row: ScimPerson) -> None:
    """Raise NotAllowed if a new name or address could open the account of someone who decides, and whom SCIM did not create."""
    if person == break_glass_account() or (
        not row.created_here and is_protected(person)
    ):
        raise NotAllowed(
            _(
                "%(name)s may decide or administer, and was not created by SCIM. Change their username and address in "
                "Pausepoint."
            )
            % {"name": person.get_username()}
        )


def _check(stated: Person, person: User | None) -> None:
    """Raise Invalid or Conflict for a new username or address that cannot be used."""
    _check_length(stated.username, stated.external_id)
    try:
        if person is None or person.username != stated.username:
            others = User.objects.exclude(pk=person.pk if person else 0)
            if others.filter(username__iexact=stated.username).exists():
                raise NameTaken(_("That username is taken."))
            User._meta.get_field("username").run_validators(stated.username)
            if person is None or person.username.lower() != stated.username.lower():
                validate_new_username(stated.username)
        if stated.email and (person is None or person.email != stated.email):
            validate_email(stated.email)
            User._meta.get_field("email").run_validators(stated.email)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages)) from None


def _check_length(*names: str) -> None:
    if any(len(name) > MAX_NAME for name in names):
        message = _("A name or id has at most %(limit)d characters.")
        raise Invalid(message % {"limit": MAX_NAME})


def _store(row: ScimPerson, stated: Person) -> None:
    """Store the attributes of a person, and their display name unless it could be mistaken for someone else's."""
    row.external_id = stated.external_id
    row.attributes = dict(stated.attributes)
    row.changed_at = timezone.now()
    row.save()
    name = clean_display_name(_display_name(stated.attributes))
    if name in {"", row.person.first_name}:
        return
    try:
        validate_display_name(name, row.person)
    except ValidationError:
        return
    row.person.first_name = name
    row.person.save(update_fields=["first_name"])


def _display_name(attributes: Mapping[str, Any]) -> str:
    name = attributes.get("name", {})
    parts = [name.get("givenName"), name.get("familyName")]
    whole = " ".join(filter(None, parts))
    return attributes.get("displayName") or name.get("formatted") or whole


def create_group(stated: Group, *, by: Actor) -> ScimGroup:
    """Create a group. It gives its people the roles and teams to which its name is mapped."""
    _check_group(stated, None)
    group = ScimGroup.objects.create(name=stated.name)
    _change_group(group, stated, "created", by=by)
    return group


def change_group(group_id: int, stated: Group, *, by: Actor) -> ScimGroup:
    """Change the name and the people of a group, and what they have through it."""
    group = seen_group(group_id)
    _check_group(stated, group)
    _change_group(group, stated, "changed", by=by)
    return group


def _change_group(group: ScimGroup, stated: Group, change: str, *, by: Actor) -> None:
    before = group.name
    held = set(group.people.values_list("pk", flat=True))
    wanted = set(stated.people)
    group.name = stated.name
    group.external_id = stated.external_id
    group.changed_at = timezone.now()
    group.save()
    group.people.remove(*held - wanted)
    group.people.add(*wanted - held)
    concerned = held ^ wanted if before == group.name else held | wanted
    _follow(concerned, {before, group.name}, by=by)
    data: dict[str, object] = {"before": before} if before != group.name else {}
    data |= {"joined": _names(wanted - held), "left": _names(held - wanted)}
    _record_group(group, {"change": change, **data}, by)


def delete_group(group_id: int, *, by: Actor) -> None:
    """Delete a group; its people lose what only it gave them."""
    group = seen_group(group_id)
    held = set(group.people.values_list("pk", flat=True))
    group.people.clear()
    group.delete()
    _follow(held, {group.name}, by=by)
    _record_group(group, {"change": "deleted", "left": _names(held)}, by)


def _follow(people: Collection[int], names: Collection[str], *, by: Actor) -> None:
    """Let people have what the groups that they are in give, and no longer what those of these names gave them."""
    if GroupMapping.objects.filter(issuer=SCIM, value__in=names).exists():
        for person in User.objects.filter(pk__in=people).order_by("pk"):
            follow_scim_groups(person, names, by=by, via=Door.SCIM)


def _check_group(stated: Group, group: ScimGroup | None) -> None:
    _check_length(stated.name, stated.external_id)
    if not stated.name.strip():
        raise Invalid(_("A group needs a name."))
    others = ScimGroup.objects.exclude(pk=group.pk if group else 0)
    if others.filter(name__iexact=stated.name).exists():
        raise NameTaken(_("Another group has this name."))
    if seen_people().filter(pk__in=stated.people).count() < len(set(stated.people)):
        raise Invalid(_("A member of this group is unknown. Create them first."))


def _names(people: Collection[int]) -> list[str]:
    rows = User.objects.filter(pk__in=people).order_by("username")
    return list(rows.values_list("username", flat=True)[:MAX_NAMES])


def _record_group(group: ScimGroup, data: Mapping[str, object], by: Actor) -> None:
    about = {"group": group.name, **data}
    audit.record("group.changed", SUBJECT, data=about, actor=by, via=Door.SCIM)


def record_refusal(
    actor: KeyActor, method: str, path: str, status: int, detail: str
) -> None:
    """Keep a refused change for the page of the administrators, in place of the oldest one."""
    with transaction.atomic():
        ScimRefusal.objects.create(
            key_name=actor.key.name,
            method=method[:10],
            path=clean_text(path)[:200],
            status=status,
            detail=clean_text(detail)[:500],
        )
        kept = ScimRefusal.objects.order_by("-pk").values_list("pk", flat=True)
        oldest = list(kept[MAX_REFUSALS:])
        ScimRefusal.objects.filter(pk__in=oldest).delete()
