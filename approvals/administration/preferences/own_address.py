"""The signed link with which a person confirms a new email address of their own, and the mail with it."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from approvals.exceptions import Conflict
from approvals.outbound.mailing import mail_to

SALT = "approvals.own_address"
#: How long the link can be used.
VALID_FOR = timedelta(days=1)


def may_change_address(person: User) -> bool:
    """Return whether people change their own address: they prove that they are the person with their password."""
    return settings.HITL_MAIL and person.has_usable_password()


def confirmation(person: User, address: str) -> EmailMessage:
    """Return the mail to the new address."""
    token = signing.dumps({"person": person.pk, "address": address, "state": _state(person)}, salt=SALT)
    context = {
        "name": person.get_username(),
        "link": settings.PUBLIC_URL + reverse("approvals:confirm-address", args=[token]),
        "hours": VALID_FOR // timedelta(hours=1),
    }
    body = render_to_string("approvals/administration/preferences/address.txt", context)
    return mail_to(address, _("[Pausepoint] Confirm your email address"), body)


def address_in(token: str, person: User) -> str:
    """Return the address that this link of the person confirms. Raise Conflict if it is old, used or of someone else."""
    refusal = Conflict(_("This link is no longer valid, or belongs to another account. Ask for a new one."))
    try:
        content = signing.loads(token, salt=SALT, max_age=VALID_FOR)
    except signing.BadSignature:
        raise refusal from None
    if content["person"] != person.pk or not constant_time_compare(content["state"], _state(person)):
        raise refusal
    return str(content["address"])


def _state(person: User) -> str:
    """Return what a new password and a new address change, so that links from before are worthless."""
    return salted_hmac(SALT, f"{person.password}\0{person.email}", algorithm="sha256").hexdigest()[:32]
