"""Add, change and remove providers and group mappings, and name the break-glass account, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialApp
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access.administrators import can_break_glass
from approvals.access.callers import SCIM
from approvals.access.providers import ENVIRONMENT, encrypt_secret, known_providers
from approvals.actions.changes import Kind, change_or_request
from approvals.actions.locking import lock_rights
from approvals.actions.logins import SUBJECT, end_sessions_at_provider
from approvals.administration.changeable import lock_people
from approvals.administration.people.actions.single_sign_on import (
    follow_scim_groups,
)
from approvals.administration.people.actions.teams import require_team_without_rights
from approvals.db.canonical_json import digest
from approvals.exceptions import Conflict, NotFound
from approvals.models import BreakGlassAccount, GroupMapping, PendingChange
from approvals.policy.loosening import mapping_loosens, provider_loosens
from approvals.record import audit
from approvals.states import Door

#: All are read at each log-in at the provider.
MOST = 500


def save_provider(
    fields: Mapping[str, Any], *, add: bool, by: User
) -> PendingChange | None:
    """Add the provider of an issuer, or change it, or return the pending change if it needs another administrator.

    Without a new `secret`, the present one stays. Raise NotAllowed or Conflict.
    """
    issuer = fields["issuer"]
    with transaction.atomic():
        standing = lock_people(by)
        before = described_provider(issuer)
        stored = dict(fields)
        if secret := stored.pop("secret"):
            stored["secret"] = encrypt_secret(secret)
        if add:
            _require_new(stored)
        return change_or_request(
            Kind.PROVIDER,
            stored,
            subject=digest(issuer),
            before=before,
            loosens=provider_loosens(before, stored),
            standing=standing,
            write=lambda: write_provider(stored, by=by),
            alone={"issuer": issuer},
            by=by,
            via=Door.DASHBOARD,
        )


def _require_new(stored: Mapping[str, Any]) -> None:
    taken = {ENVIRONMENT}
    for app in known_providers():
        taken |= {app.provider_id, app.key}
    if not taken.isdisjoint({stored["issuer"], stored["slug"]}):
        raise Conflict(_("Another provider has this issuer or short name."))


def described_provider(issuer: str) -> dict[str, Any] | None:
    """Return a stored provider as changes and the record show it, without its secret."""
    app = SocialApp.objects.filter(provider_id=issuer).first()
    if app is None:
        return None
    return {name: app.settings[name] for name in app.settings if name != "secret"}


def write_provider(stored: Mapping[str, Any], *, by: User | None) -> None:
    """Store a provider, on record. Raise Conflict."""
    issuer = stored["issuer"]
    app = SocialApp.objects.filter(provider_id=issuer).first()
    change = "provider changed"
    if app is None:
        _require_new(stored)
        app = SocialApp(provider_id=issuer, key=stored["slug"])
        change = "provider added"
    app.name = stored["name"]
    app.client_id = stored["client_id"]
    app.settings |= stored
    app.save()
    about = {"change": change, "new_secret": "secret" in stored, **app.settings}
    about.pop("secret", None)
    _record(about, by, Door.DASHBOARD)


def remove_provider(issuer: str, *, by: User) -> None:
    """Remove a provider with its mappings, and end the sessions that began there, on record. Raise NotAllowed or Conflict.

    People stay linked to it, in case it is added again.
    """
    with transaction.atomic():
        lock_people(by)
        linked = SocialAccount.objects.filter(provider=issuer, user=by)
        if linked.exists() and not by.has_usable_password():
            message = _("You log in with this provider. Set up a password first.")
            raise Conflict(message)
        GroupMapping.objects.filter(issuer=issuer).delete()
        SocialApp.objects.filter(provider_id=issuer).delete()
        end_sessions_at_provider(issuer)
        about = {"change": "provider removed", "issuer": issuer}
        _record(about, by, Door.DASHBOARD)


def change_mapping(
    issuer: str, value: str, group_id: int, *, add: bool, by: User
) -> PendingChange | None:
    """Add or remove a mapping, or return the pending change if it needs another administrator.

    Raise NotFound, NotAllowed or Conflict.
    """
    with transaction.atomic():
        standing = lock_people(by)
        stored = {"issuer": issuer, "value": value, "group": group_id}
        same = GroupMapping.objects.filter(issuer=issuer, group=group_id)
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
        return change_or_request(
            Kind.GROUP_MAPPING,
            stored if add else None,
            subject=digest(stored),
            before=None if add else stored,
            loosens=mapping_loosens(added=add, others=same.count() > 1),
            standing=standing,
            write=lambda: write_mapping(stored, add=add, requested_by=by, by=by),
            alone=stored,
            by=by,
            via=Door.DASHBOARD,
        )


def write_mapping(
    stored: Mapping[str, Any], *, add: bool, requested_by: User, by: User
) -> None:
    """Add a mapping, or remove it, on record. People keep the role or team of the last one. Raise NotFound."""
    group = known_group(stored)
    mapping = {**stored, "group": group}
    if add:
        GroupMapping.objects.create(
            **mapping, requested_by=requested_by, confirmed_by=by
        )
        if stored["issuer"] == SCIM:
            # Its groups are here already.
            for person in User.objects.filter(scim_groups__name=stored["value"]):
                follow_scim_groups(person, (), by=by, via=Door.DASHBOARD)
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
