"""Second factors, which allauth stores: who has one, and who needs one."""

from __future__ import annotations

from allauth.mfa.models import Authenticator

#: Recovery codes only replace a lost factor.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def has_factor(person: int) -> bool:
    return Authenticator.objects.filter(user_id=person, type__in=FACTORS).exists()
