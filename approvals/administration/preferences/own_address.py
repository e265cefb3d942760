"""The signed link and mail with which people confirm their own new email address."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from approvals.exceptions import Conflict
from approvals.outbound.mailing import mail_to

SALT = "approvals.own_address"
#: How long the link is valid.
VALID_FOR = timedelta(days=1)


def may_change_address(person: User) -> bool:
    """Return whether people may change their own address, which takes their password."""
    return settings.HITL_MAIL and person.has_usable_password()


def confirmation(person: User, address: str) -> EmailMessage:
    """Return the mail to the new address."""
    token = signing.dumps(
        {"person": person.pk, "address": address, "state": _state(person)}, salt=SALT
    )
    return mail_to(
        address,
        "confirm_address",
        name=person.get_username(),
        path=reverse("approvals:confirm-address", args=[token]),
        hours=VALID_FOR // timedelta(hours=1),
    )


def address_in(token: str, person: User) -> str:
    """Return the address that this link confirms. Raise Conflict if the link is expired, used or someone else's."""
    refusal = Conflict(
        _(
            "This link is no longer valid, or belongs to another account. Ask for a new one."
        )
    )
    try:
        content = signing.loads(token, salt=SALT, max_age=VALID_FOR)
    except signing.BadSignature:
        raise refusal from None
    if content["person"] != person.pk or not constant_time_compare(
        content["state"], _state(person)
    ):
        raise refusal
    return str(content["address"])


def _state(person: User) -> str:
    """Return a digest that changes with the password and the address, to invalidate earlier links."""
    return salted_hmac(
        SALT, f"{person.password}\0{person.email}", algorithm="sha256"
    ).hexdigest()[:32]
