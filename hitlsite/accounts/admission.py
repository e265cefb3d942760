"""Decide which people of a provider may enter, and as whom."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.rate_limits import client_address
from approvals.access.usernames import clean_display_name, validate_new_username
from approvals.actions.locking import lock_rights
from approvals.administration.people import actions
from approvals.administration.preferences.actions import store_display_name
from approvals.models import BreakGlassAccount, GroupMapping

logger = logging.getLogger(__name__)


class NotAdmitted(Exception):
    """This person may not enter; the message says what to do, with the name of the provider and the details."""

    def __init__(self, code: str, message: str, **details: str) -> None:
        super().__init__(message)
        self.code = code
        self.details = details


def admit(request: HttpRequest, login: SocialLogin) -> None:
    """Set the account of a log-in, and update it from the provider. Raise NotAdmitted.

    Known people are found by issuer and subject. Others are invited, linked by their address, or new, as the settings allow.
    """
    app: SocialApp = login.provider.app
    issuer = app.provider_id
    claims: Mapping[str, Any] = login.account.extra_data
    if login.state.get("again") and not _is_fresh(claims):
        raise NotAdmitted(
            "no_fresh_log_in",
            _(
                "%(name)s does not confirm that you have just logged in. A passkey or an authenticator app can do so "
                "in its place: log out, log in again, and set one up in your settings right away."
            ),
        )
    mappings = GroupMapping.objects.filter(issuer=issuer)
    mapped = set(mappings.values_list("value", flat=True))
    groups = login.state["groups"]
    if mapped and groups is None:
        raise NotAdmitted(
            "no_groups",
            _(
                "%(name)s does not list your groups, perhaps because there are too many, so Pausepoint cannot tell your "
                "roles. Ask an administrator to look at the guide on single sign-on."
            ),
        )
    emails = [each.email for each in login.email_addresses if each.verified]
    email = emails[0] if emails else ""
    try:
        with transaction.atomic():
            if mapped:
                lock_rights()
            if login.account.pk is None:
                is_member = not mapped.isdisjoint(groups or ())
                person = _person_with_address(app, email) if email else None
                if person is not None:
                    address = client_address(request)
                    actions.link_to_provider(person, provider=issuer, address=address)
                elif app.settings.get("default_role") or is_member:
                    person = _new_person(app, claims, email)
                else:
                    raise _unknown(email)
                login.connect(request, person)
            person = login.account.user
            if not person.is_active:
                message = _(
                    "Your account is deactivated. Ask an administrator to activate it."
                )
                raise NotAdmitted("deactivated", message)
            if email:
                actions.follow_address(person, email, provider=issuer)
            if mapped:
                actions.follow_groups(person, groups, provider=issuer)
    except IntegrityError:
        message = _("You logged in twice at the same time. Log in again.")
        raise NotAdmitted("again", message) from None
    _follow_name(person, clean_display_name(claims.get("name", "")))


def _follow_name(person: User, name: str) -> None:
    """Store the provider's name, unless it could be mistaken for someone else's."""
    if name in {"", person.first_name}:
        return
    try:
        store_display_name(person, name)
    except ValidationError as error:
        logger.warning("Kept the name of %r: %s", person.get_username(), error.messages)


def _is_fresh(claims: Mapping[str, Any]) -> bool:
    since: float = claims["auth_time"]
    return since >= time.time() - settings.HITL_FRESH_SIGN_IN


def _person_with_address(app: SocialApp, email: str) -> User | None:
    """Return the one invited person with this address; for a provider that links by email, also any other account.

    Superusers, staff and the break-glass account are never linked: an address at the provider must not open the accounts that
    may do everything.
    """
    linked = SocialAccount.objects.filter(provider=app.provider_id)
    people = User.objects.filter(
        email__iexact=email, is_staff=False, is_superuser=False
    )
    people = people.exclude(pk__in=linked.values("user"))
    people = people.exclude(pk__in=BreakGlassAccount.objects.values("person"))
    if not app.settings["link_by_email"]:
        people = people.filter(invitation__expires_at__gt=timezone.now())
    # A database may treat more letters as equal than a mail server does.
    matches = [each for each in people if each.email.lower() == email.lower()]
    return matches[0] if len(matches) == 1 else None


def _new_person(app: SocialApp, claims: Mapping[str, Any], email: str) -> User:
    role = app.settings.get("default_role")
    for username in (claims.get("preferred_username"), email):
        if username and _is_free(username):
            return actions.add_from_provider(
                username=username,
                email=email,
                roles=[role] if role else [],
                provider=app.provider_id,
            )
    raise NotAdmitted(
        "username_taken",
        _(
            "Your username at %(name)s is taken here, or cannot be used. Ask an administrator to invite you with "
            "your email address."
        ),
    )


def _is_free(username: str) -> bool:
    if User.objects.filter(username__iexact=username).exists():
        return False
    try:
        User._meta.get_field("username").run_validators(username)
        validate_new_username(username)
    except ValidationError:
        return False
    return True


def _unknown(email: str) -> NotAdmitted:
    if email:
        message = _(
            "You are logged in at %(name)s, but have no account here. Ask an administrator to invite "
            "%(email)s, and log in again."
        )
    else:
        message = _(
            "You are logged in at %(name)s, but it does not confirm your email address, so Pausepoint cannot "
            "find your account. Ask an administrator to look at the guide on single sign-on."
        )
    return NotAdmitted("no_account", message, email=email)
