"""The links of invitations: signed with Django's own tokens for new passwords, but valid for days."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse
from django.utils.http import int_to_base36

from approvals.models import Invitation

#: How long an invitation can be accepted.
VALID_FOR = timedelta(days=7)


class _Tokens(PasswordResetTokenGenerator):
    """Tokens of one invitation: worthless once the person has a password or has logged in, or a new one was sent."""

    key_salt = "approvals.access.invitations"

    def __init__(self, invitation: Invitation) -> None:
        super().__init__()
        self._invitation = invitation

    def _now(self) -> datetime:
        # The time limit of passwords does not count: `expires_at` does.
        return self._invitation.sent_at.replace(tzinfo=None)

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{self._invitation.sent_at.isoformat()}"


def invitation_link(invitation: Invitation) -> str:
    """Return the address of the page on which the person chooses a password."""
    person = invitation.person
    named = {"uidb36": int_to_base36(person.pk), "key": _Tokens(invitation).make_token(person)}
    return settings.PUBLIC_URL + reverse("account_reset_password_from_key", kwargs=named)


def is_invited(person: User, token: str) -> bool:
    """Whether the token is that of the person's invitation, which has not expired."""
    invitation = Invitation.objects.filter(person=person, person__is_active=True).first()
    return invitation is not None and not invitation.expired and _Tokens(invitation).check_token(person, token)
