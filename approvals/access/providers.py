"""The OpenID providers of single sign-on: the one of the settings, and those that administrators added.

Each is a row of allauth: `provider_id` is the issuer, and `key` its part of our addresses. The one of the settings is not
stored, and has no such part.
"""

from __future__ import annotations

from allauth.socialaccount.models import SocialApp
from django.conf import settings

from approvals.crypto import encryption

#: For the encryption of secrets with which we call other servers: those of providers (in `settings["secret"]`), channels and
#: engines.
SALT = "approvals.providers"
#: What metrics call the provider of the settings; no other one has this key.
ENVIRONMENT = "environment"


def encrypt_secret(secret: str) -> str:
    return encryption(SALT).encrypt(secret.encode()).decode()


def decrypt_secret(encrypted: str) -> str:
    """Return a stored secret. Raise InvalidToken if SECRET_KEY has changed."""
    return encryption(SALT).decrypt(encrypted).decode()


def known_providers() -> list[SocialApp]:
    """Return the provider of the settings, and then the stored ones."""
    stored = SocialApp.objects.order_by("name", "pk")
    return [_of_settings(), *stored] if settings.OIDC_ISSUER else list(stored)


def _of_settings() -> SocialApp:
    return SocialApp(
        provider_id=settings.OIDC_ISSUER,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={
            "link_by_email": settings.OIDC_LINK_BY_EMAIL,
            "private_hosts": settings.OIDC_PRIVATE_HOSTS,
            "verified_email": settings.OIDC_VERIFIED_DOMAINS,
            "default_role": settings.OIDC_DEFAULT_ROLE,
        },
    )
