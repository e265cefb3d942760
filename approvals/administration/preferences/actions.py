"""Store what people choose for themselves, and the browsers that notify them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import usernames
from approvals.actions.logins import SUBJECT
from approvals.addresses import RefusedAddress, parse_destination
from approvals.administration.account_mails import Change, tell_old_address
from approvals.administration.preferences import own_address
from approvals.db import transactions
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import after_commit
from approvals.exceptions import Invalid
from approvals.models import Preferences, PushSubscription
from approvals.outbound.mailing import send_later
from approvals.outbound.push import is_available, is_public_key, is_secret
from approvals.queries.languages import in_language_of
from approvals.record import audit
from approvals.states import Door

#: Browsers of one person. The one that has been there longest makes room.
MAX_BROWSERS = 20


def store_preferences(person: User, chosen: Mapping[str, Any]) -> None:
    """Store some of a person's preferences; the others stay. Values were checked by a form."""
    Preferences.objects.update_or_create(person=person, defaults=dict(chosen))


def store_display_name(person: User, name: str) -> None:
    """Store how a person wants to be shown, on record; empty for their username. Raise ValidationError."""
    with transaction.atomic():
        # Two people who choose equal names at once are checked one after another.
        transactions.lock_name("display names")
        usernames.validate_display_name(name, person)
        stored = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        before, stored.first_name = stored.first_name, name
        if before != name:
            stored.save(update_fields=["first_name"])
            _record(stored, {"before": {"display_name": before}, "after": {"display_name": name}})


def request_address(person: User, address: str) -> None:
    """Mail the link that confirms a person's new address there, and tell the old one. Nothing is stored."""
    with in_language_of(person.pk), transaction.atomic():
        after_commit(send_later, own_address.confirmation(person, address))
        tell_old_address(person, Change.OWN_EMAIL_REQUESTED, old=person.email, new=address)


def confirm_address(person: User, token: str) -> str:
    """Store the address that a link confirms, on record, and return it. Raise Conflict."""
    with transaction.atomic():
        stored = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        address, before = own_address.address_in(token, stored), stored.email
        stored.email = address
        stored.save(update_fields=["email"])
        _record(stored, {"before": {"email": before}, "after": {"email": address}})
        tell_old_address(stored, Change.OWN_EMAIL, old=before, new=address)
    return address


def _record(person: User, data: Mapping[str, Any]) -> None:
    about = {"user": person.get_username(), "user_id": person.pk}
    audit.record("person.changed", SUBJECT, data=about | dict(data), actor=person, via=Door.DASHBOARD)


def subscribe(
    person: User, *, endpoint: str, p256dh: str, auth: str, browser: str, session_key: str
) -> PushSubscription:
    """Store what a browser says of its subscription. Raise Invalid.

    A browser that someone else used before is taken over only with its own keys: an address alone may be known to others.
    """
    if not is_available():
        raise Invalid(_("Devices cannot be notified, because PUBLIC_URL does not begin with https://."), {})
    errors = {}
    try:
        allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
        if len(endpoint) > 500 or (
            parse_destination(endpoint, allow_private=allowed).scheme != "https" and not allowed
        ):
            errors["endpoint"] = _("must be an https address of at most 500 characters")
    except RefusedAddress as error:
        errors["endpoint"] = _("the address %(problem)s") % {"problem": error}
    if not is_public_key(p256dh):
        errors["p256dh"] = _("is not a public key")
    if not is_secret(auth):
        errors["auth"] = _("is not a secret of 16 bytes")
    if errors:
        raise Invalid(_("This browser's subscription is not valid."), errors)
    fields = {"p256dh": p256dh, "auth": auth, "browser": clean_text(browser)[:300], "session_key": session_key}
    with transaction.atomic():
        others = (
            PushSubscription.objects.select_for_update(no_key=True).filter(endpoint=endpoint).exclude(person=person)
        )
        if others.exclude(p256dh=p256dh, auth=auth).exists():
            raise Invalid(_("This browser's subscription is not valid."), {"endpoint": _("belongs to another browser")})
        subscription, _created = PushSubscription.objects.update_or_create(
            endpoint=endpoint, defaults={"person": person, **fields}
        )
        newest = person.push_subscriptions.order_by("-pk").values("pk")[:MAX_BROWSERS]
        person.push_subscriptions.exclude(pk__in=list(newest.values_list("pk", flat=True))).delete()
    return subscription


def unsubscribe(person: User, *, endpoint: str) -> None:
    """Forget one browser of this person; an endpoint that no database can store names none."""
    if "\x00" not in endpoint:
        person.push_subscriptions.filter(endpoint=endpoint).delete()
