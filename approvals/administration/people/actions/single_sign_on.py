"""Link, add and update people as an identity provider confirms them, on record."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals.access.administrators import break_glass_account
from approvals.access.callers import SCIM
from approvals.access.permissions import administrators
from approvals.access.rights import ADMINISTER
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.standing_changes import (
    NOTHING_TO_LOSE,
    standing_before,
    standing_changed,
)
from approvals.administration.account_mails import AccountMailReason, tell_old_address
from approvals.administration.changeable import (
    is_beyond_administrators,
    record_person,
)
from approvals.administration.people.actions.people import described, write_email
from approvals.administration.people.actions.roles import (
    give_roles,
    require_an_administrator,
)
from approvals.exceptions import Conflict
from approvals.models import GroupMapping, Invitation, ScimGroup
from approvals.models.actors import Actor, KeyActor
from approvals.models.policy.absence import current_absences
from approvals.record import audit
from approvals.states import Door

logger = logging.getLogger(__name__)


def link_to_provider(person: User, *, provider: str, address: str) -> None:
    """Record that a person's account now opens with the provider, which accepts their invitation."""
    with transaction.atomic():
        invited, _rows = Invitation.objects.filter(person=person).delete()
        data = {"address": address, "provider": provider}
        if invited:
            audit.record(
                "invitation.accepted",
                SUBJECT,
                data=data,
                actor=person,
                via=Door.DASHBOARD,
            )
        else:
            _record("person.changed", person, {"change": "linked", **data})


def add_from_provider(
    *, username: str, email: str, roles: Collection[str], provider: str
) -> User:
    """Create a person without a password who logs in at the provider."""
    with transaction.atomic():
        person = User(username=username, email=email)
        person.set_unusable_password()
        person.save()
        give_roles(person, roles)
        data = {"email": email, "roles": list(roles), "provider": provider}
        _record("person.created", person, data)
        standing_changed(NOTHING_TO_LOSE)
    return person


def follow_address(person: User, email: str, *, provider: str) -> None:
    """Store the address that the provider confirms, and tell the old one."""
    before = person.email
    if email == before:
        return
    with transaction.atomic():
        write_email(person, email)
        changed = {"before": {"email": before}, "after": {"email": email}}
        _record("person.changed", person, {**changed, "provider": provider})
        tell_old_address(
            person, AccountMailReason.PROVIDER_EMAIL, old=before, new=email
        )


def follow_groups(person: User, values: Collection[str], *, provider: str) -> None:
    """Give and take the mapped roles and teams by the values of the group claim, on record.

    The caller holds the lock of `lock_rights`. Superusers, staff and the break-glass account stay as they are, and so does the
    last administrator. A mapping gives nothing to the administrators who made it, nor to people for whom they decide.
    """
    if _is_left_out(person):
        return
    mappings = list(GroupMapping.objects.filter(issuer=provider))
    added, removed = _mapped(person, mappings, values)
    if not added and not removed:
        return
    before = described(person)
    before_change = standing_before([person.pk])
    person.groups.remove(*removed)
    person.groups.add(*added)
    app, _dot, codename = ADMINISTER.partition(".")
    administering = Group.objects.filter(
        pk__in=removed,
        permissions__content_type__app_label=app,
        permissions__codename=codename,
    )
    if administering.exists() and not administrators().exists():
        logger.warning("%r stays the last administrator", person.get_username())
        person.groups.add(*administering)
    after = described(person)
    if before != after:
        standing_changed(before_change)
        groups = sorted({each.value for each in mappings} & set(values))
        data = {"before": before, "after": after, "provider": provider}
        _record("person.changed", person, {**data, "groups": groups})


def follow_scim_groups(
    person: User, left: Collection[str], *, by: Actor, via: Door
) -> None:
    """Give the mapped roles and teams of a person's groups, and take those of the groups that they have left, on record.

    The caller holds the lock of `lock_rights`. A mapping, or a key for SCIM, gives nothing to the administrators who made it.
    Raise Conflict if no administrator would be left, and for people who may do everything.
    """
    values = set(ScimGroup.objects.filter(people=person).values_list("name", flat=True))
    mappings = list(
        GroupMapping.objects.filter(issuer=SCIM, value__in=values | set(left))
    )
    makers = {by.key.made_by_id, by.pk} if isinstance(by, KeyActor) else set[int]()
    added, removed = _mapped(person, mappings, values, makers)
    if _is_left_out(person):
        added = set()
        if removed:
            message = _(
                "%(name)s is a superuser, staff, or the break-glass account: SCIM takes no role or team from them."
            )
            raise Conflict(message % {"name": person.get_username()})
    if not added and not removed:
        return
    before = described(person)
    before_change = standing_before([person.pk])
    person.groups.remove(*removed)
    person.groups.add(*added)
    require_an_administrator()
    standing_changed(before_change)
    data = {"before": before, "after": described(person), "groups": sorted(values)}
    record_person("person.changed", person, data, by=by, via=via)


def _is_left_out(person: User) -> bool:
    return is_beyond_administrators(person) or person == break_glass_account()


def _mapped(
    person: User,
    mappings: Collection[GroupMapping],
    values: Collection[str],
    makers: Collection[int | None] = (),
) -> tuple[set[int], set[int]]:
    """Return the groups that a person of these values gains, and those that they lose. Makers of a mapping gain nothing."""
    matching = [each for each in mappings if each.value in values]
    held = set(person.groups.values_list("pk", flat=True))
    deciding = _deciding_as(person)
    gained = {
        each.group_id
        for each in matching
        if deciding.isdisjoint({each.requested_by_id, each.confirmed_by_id, *makers})
    }
    kept = {each.group_id for each in matching}
    return gained - held, held & {each.group_id for each in mappings} - kept


def _deciding_as(person: User) -> set[int]:
    """Return the ids of the person and of everyone who decides for them at present, or would if they could decide."""
    absences = current_absences(Now()).filter(person=person).exclude(delegate=None)
    return {person.pk, *absences.values_list("delegate_id", flat=True)}


def _record(event: str, person: User, data: Mapping[str, object]) -> None:
    about = {"user": person.get_username(), "user_id": person.pk}
    audit.record(
        event, SUBJECT, data=about | dict(data), actor=None, via=Door.DASHBOARD
    )
