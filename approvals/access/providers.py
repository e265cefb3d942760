"""The OpenID providers of single sign-on: the one of the settings, and those that administrators added.

Each is a row of allauth: `provider_id` is the issuer, and `key` its part of our addresses. The one of the settings is not
stored, and has no such part.
"""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp
from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

#: For the encryption of client secrets, which are in `settings["secret"]`.
SALT = "approvals.providers"


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


def provider_of(person: User) -> SocialApp | None:
    """Return the provider where this person logged in last."""
    known = {app.provider_id: app for app in known_providers()}
    accounts = SocialAccount.objects.filter(user=person, provider__in=known)
    last = accounts.order_by("-last_login").first()
    return None if last is None else known[last.provider]


def people_only_of(issuer: str) -> QuerySet[User]:
    """Return the active people who could not log in without this provider."""
    others = {app.provider_id for app in known_providers()} - {issuer}
    links = SocialAccount.objects.filter(user=OuterRef("pk"))
    people = User.objects.filter(
        Exists(links.filter(provider=issuer)),
        ~Exists(links.filter(provider__in=others)),
        is_active=True,
    )
    if settings.OIDC_ONLY:
        return people
    passkeys = Authenticator.objects.filter(
        user=OuterRef("pk"), type=Authenticator.Type.WEBAUTHN
    )
    return people.filter(
        ~Exists(passkeys), password__startswith=UNUSABLE_PASSWORD_PREFIX
    )
