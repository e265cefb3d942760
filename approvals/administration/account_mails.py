"""Mail the person concerned when someone else changes their account: no one acts as someone else unnoticed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from django.conf import settings
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.db.transactions import after_commit
from approvals.outbound.mailing import mail_to, send_later
from approvals.queries.languages import in_language_of


class Change(Enum):
    """What was done to an account, as a sentence."""

    LINK = gettext_lazy("%(by)s made a link that sets the password of your account.")
    LINK_REQUESTED = gettext_lazy("%(by)s requested a link that sets the password of your account.")
    ROLES = gettext_lazy("%(by)s gave you these roles: %(detail)s.")
    ROLES_REMOVED = gettext_lazy("%(by)s removed these roles of yours: %(detail)s.")
    RIGHTS = gettext_lazy("%(by)s gave you these additional rights: %(detail)s.")
    RIGHTS_REMOVED = gettext_lazy("%(by)s removed these additional rights of yours: %(detail)s.")
    EMAIL = gettext_lazy("%(by)s changed the email address of your account to %(detail)s.")
    EMAIL_REQUESTED = gettext_lazy("%(by)s requested to change the email address of your account to %(detail)s.")
    KEY = gettext_lazy("%(by)s made an API key that acts for you: %(detail)s.")
    KEY_CHANGED = gettext_lazy("%(by)s changed which calls of your API key wait for a person: %(detail)s.")
    KEY_REVOKED = gettext_lazy("%(by)s revoked your API key %(detail)s.")
    OWN_EMAIL = gettext_lazy("You changed the email address of your account to %(detail)s.")
    OWN_EMAIL_REQUESTED = gettext_lazy(
        "You asked to change the email address of your account to %(detail)s. Confirm it with the link in the email there."
    )
    ADMIN = gettext_lazy("%(by)s changed your account in the database admin: %(detail)s.")


def tell_person(person: User, change: Change, *, by: User, detail: str = "", also_to: str = "") -> None:
    """Mail a person what was done, once the transaction commits; nothing if they did it themselves or no mail is sent."""
    addresses = [address for address in dict.fromkeys((person.email, also_to)) if address]
    if by.pk != person.pk:
        _mail(person, change, addresses, {"by": _in_one_line(by.get_username()), "detail": _in_one_line(detail)})


def tell_old_address(person: User, change: Change, *, old: str, new: str) -> None:
    """Mail someone who changes their own address, at the old one: it may be someone else who does."""
    _mail(person, change, [old] if old else [], {"detail": _in_one_line(new)})


def _mail(person: User, change: Change, addresses: Sequence[str], values: Mapping[str, str]) -> None:
    if not settings.HITL_MAIL or not addresses:
        return
    with in_language_of(person.pk):
        sentence = str(change.value) % values
        context = {"name": person.get_username(), "sentence": sentence, "site": settings.PUBLIC_URL}
        body = render_to_string("approvals/administration/account_change.txt", context)
        subject = _("[Pausepoint] Your account was changed")
    for address in addresses:
        after_commit(send_later, mail_to(address, subject, body))


def _in_one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
