"""Store people's preferences and the browsers that notify them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import usernames
from approvals.addresses import RefusedAddress, parse_destination
from approvals.administration.account_mails import AccountMailReason, tell_old_address
from approvals.administration.changeable import record_person
from approvals.administration.preferences import own_address
from approvals.db import transactions
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import after_commit
from approvals.exceptions import Invalid
from approvals.models import Preferences, PushSubscription
from approvals.outbound.mailing import send_later
from approvals.outbound.push import is_available, is_public_key, is_secret
from approvals.queries.preferences import in_language_of

#: Browsers per person. A new one replaces the oldest.
MAX_BROWSERS = 20


def store_preferences(person: User, chosen: Mapping[str, Any]) -> None:
    """Store some of a person's preferences, validated by a form; the others stay."""
    Preferences.objects.update_or_create(person=person, defaults=dict(chosen))


def store_display_name(person: User, name: str) -> None:
    """Store a person's display name, on record; empty to show the username. Raise ValidationError."""
    with transaction.atomic():
        # The lock serializes two people choosing the same name.
        transactions.lock_name("display names")
        usernames.validate_display_name(name, person)
        stored = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        before = stored.first_name
        stored.first_name = name
        if before != name:
            stored.save(update_fields=["first_name"])
            data = {"before": {"display_name": before}, "after": {"display_name": name}}
            record_person("person.changed", stored, data, by=stored)


def request_address(person: User, address: str) -> None:
    """Mail a confirmation link to a person's new address, and notify the old one. Store nothing."""
    with in_language_of(person.pk), transaction.atomic():
        after_commit(send_later, own_address.confirmation(person, address))
        tell_old_address(
            person, AccountMailReason.OWN_EMAIL_REQUESTED, old=person.email, new=address
        )


def confirm_address(person: User, token: str) -> str:
    """Store the address that a link confirms, on record, and return it. Raise Conflict."""
    with transaction.atomic():
        stored = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        address = own_address.address_in(token, stored)
        before = stored.email
        stored.email = address
        stored.save(update_fields=["email"])
        data = {"before": {"email": before}, "after": {"email": address}}
        record_person("person.changed", stored, data, by=stored)
        tell_old_address(stored, AccountMailReason.OWN_EMAIL, old=before, new=address)
    return address


def subscribe(
    person: User,
    *,
    endpoint: str,
    p256dh: str,
    auth: str,
    browser: str,
    session_key: str,
) -> PushSubscription:
    """Store a browser's push subscription. Raise Invalid.

    A browser used by someone else before is reassigned only with its own keys: others may know its endpoint.
    """
    if not is_available():
        message = _(
            "Devices cannot be notified, because PUBLIC_URL does not start with https://."
        )
        raise Invalid(message, {})
    errors = {"endpoint": _endpoint_error(endpoint)}
    if not is_public_key(p256dh):
        errors["p256dh"] = _("is not a public key")
    if not is_secret(auth):
        errors["auth"] = _("is not a secret of 16 bytes")
    if any(errors.values()):
        raise Invalid(
            _("This browser's subscription is not valid."),
            {name: error for name, error in errors.items() if error},
        )
    fields = {
        "p256dh": p256dh,
        "auth": auth,
        "browser": clean_text(browser)[:300],
        "session_key": session_key,
    }
    with transaction.atomic():
        others = (
            PushSubscription.objects.select_for_update(no_key=True)
            .filter(endpoint=endpoint)
            .exclude(person=person)
        )
        if others.exclude(p256dh=p256dh, auth=auth).exists():
            raise Invalid(
                _("This browser's subscription is not valid."),
                {"endpoint": _("belongs to another browser")},
            )
        subscription, _created = PushSubscription.objects.update_or_create(
            endpoint=endpoint, defaults={"person": person, **fields}
        )
        newest = person.push_subscriptions.order_by("-pk").values("pk")[:MAX_BROWSERS]
        person.push_subscriptions.exclude(
            pk__in=list(newest.values_list("pk", flat=True))
        ).delete()
    return subscription


def _endpoint_error(endpoint: str) -> str:
    """Return why a push service's address is refused; empty if it is not."""
    not_https = _("must be an https address of at most 500 characters")
    if len(endpoint) > 500:
        return not_https
    allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
    try:
        destination = parse_destination(endpoint, allow_private=allowed)
    except RefusedAddress as error:
        return _("the address %(problem)s") % {"problem": error}
    return "" if allowed or destination.scheme == "https" else not_https


def unsubscribe(person: User, *, endpoint: str) -> None:
    """Delete one browser of this person; ignore an endpoint that could not be stored."""
    if "\x00" not in endpoint:
        person.push_subscriptions.filter(endpoint=endpoint).delete()
