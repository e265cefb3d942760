"""Store what people choose for themselves, and the browsers that notify them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.addresses import RefusedAddress, parse_destination
from approvals.db.canonical_json import clean_text
from approvals.exceptions import Invalid
from approvals.models import Preferences, PushSubscription
from approvals.outbound.push import is_available, is_public_key, is_secret

#: Browsers of one person. The one that has been there longest makes room.
MAX_BROWSERS = 20


def store_preferences(person: User, chosen: Mapping[str, Any]) -> None:
    """Store some of a person's preferences; the others stay. Values were checked by a form."""
    Preferences.objects.update_or_create(person=person, defaults=dict(chosen))


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
