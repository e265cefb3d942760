"""Mail people when someone else changes their account, so that no one can take it over unnoticed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy

from approvals.db.transactions import after_commit
from approvals.models.actors import Signatory
from approvals.outbound.mailing import mail_to, send_later
from approvals.queries.preferences import in_language_of
from approvals.text.text import in_one_line


class AccountMailReason(Enum):
    """The changes of an account, each with its sentence for the mail."""

    LINK = gettext_lazy("%(by)s created a link that sets the password of your account.")
    LINK_REQUESTED = gettext_lazy(
        "%(by)s requested a link that sets the password of your account."
    )
    ROLES = gettext_lazy("%(by)s gave you these roles: %(detail)s.")
    ROLES_REMOVED = gettext_lazy("%(by)s removed these roles from you: %(detail)s.")
    RIGHTS = gettext_lazy("%(by)s gave you these additional rights: %(detail)s.")
    RIGHTS_REMOVED = gettext_lazy(
        "%(by)s removed these additional rights from you: %(detail)s."
    )
    EMAIL = gettext_lazy(
        "%(by)s changed the email address of your account to %(detail)s."
    )
    EMAIL_REQUESTED = gettext_lazy(
        "%(by)s requested to change the email address of your account to %(detail)s."
    )
    KEY = gettext_lazy("%(by)s created an API key that acts for you: %(detail)s.")
    KEY_CHANGED = gettext_lazy(
        "%(by)s changed which calls made with your API key wait for a person: %(detail)s."
    )
    KEY_REVOKED = gettext_lazy("%(by)s revoked your API key %(detail)s.")
    KEY_LEAKED = gettext_lazy(
        "Your API key %(detail)s was found where others can read it, and has been revoked. Create a new one, and"
        " check in the audit log what was done with it."
    )
    KEY_EXPIRES = gettext_lazy(
        "An API key of yours expires soon: %(detail)s. From then on, calls with it are refused. Rotate it before, under"
        " Settings > API keys, and give the new key to your program."
    )
    OWN_KEY = gettext_lazy("You created an API key: %(detail)s.")
    OWN_EMAIL = gettext_lazy(
        "You changed the email address of your account to %(detail)s."
    )
    OWN_EMAIL_REQUESTED = gettext_lazy(
        "You asked to change the email address of your account to %(detail)s. To confirm it, open the link in"
        " the email sent there."
    )
    PROVIDER_EMAIL = gettext_lazy(
        "Single sign-on changed the email address of your account to %(detail)s."
    )
    FACTORS_RESET = gettext_lazy(
        "%(by)s removed all second factors of your account, and ended your sessions."
    )
    FACTORS_RESET_ON_SERVER = gettext_lazy(
        "Someone on the server removed all second factors of your account, and ended your sessions."
    )
    FACTORS_RESET_REQUESTED = gettext_lazy(
        "%(by)s requested to remove all second factors of your account."
    )
    FACTOR_ADDED = gettext_lazy(
        "A second factor was added to your account: %(detail)s."
    )
    FACTOR_REMOVED = gettext_lazy(
        "A second factor was removed from your account: %(detail)s."
    )
    NEW_ADDRESS = gettext_lazy(
        "Someone logged in to your account from an address that it was not used from before: %(detail)s. If it was not"
        " you, change your password, and end the session under Settings > Sessions."
    )
    ADMIN = gettext_lazy(
        "%(by)s changed your account in the database admin: %(detail)s."
    )


def tell_person(
    person: User,
    change: AccountMailReason,
    *,
    by: Signatory,
    detail: str = "",
    also_to: str = "",
) -> None:
    """Mail a person about a change of their account after the commit, unless they made it themselves or mail is off."""
    addresses = [
        address for address in dict.fromkeys((person.email, also_to)) if address
    ]
    if by.pk != person.pk:
        _mail(
            person,
            change,
            addresses,
            {"by": in_one_line(by.get_username()), "detail": in_one_line(detail)},
        )


def tell_old_address(
    person: User, change: AccountMailReason, *, old: str, new: str
) -> None:
    """Mail a person's old address when they change it themselves, in case someone else is using their account."""
    _mail(person, change, [old] if old else [], {"detail": in_one_line(new)})


def tell_of_own_change(person: User, change: AccountMailReason, detail: str) -> None:
    """Mail a person about a change that they made themselves, in case someone else is using their account."""
    tell_old_address(person, change, old=person.email, new=detail)


def _mail(
    person: User,
    change: AccountMailReason,
    addresses: Sequence[str],
    values: Mapping[str, str],
) -> None:
    if not settings.HITL_MAIL or not addresses:
        return
    with in_language_of(person.pk):
        sentence = str(change.value) % values
        mails = [
            mail_to(
                address,
                "account_change",
                name=person.get_username(),
                sentence=sentence,
                reason=change.name,
            )
            for address in addresses
        ]
    for mail in mails:
        after_commit(send_later, mail)
