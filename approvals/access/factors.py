"""Second factors, which allauth stores: who has one, and who needs one."""

from __future__ import annotations

from collections.abc import Collection

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from approvals.db.many import any_of
from approvals.models.people import RoleName

#: For the encryption of their secrets.
SALT = "hitlsite.factors"
#: Recovery codes only replace a lost factor.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def has_factor(person: int) -> bool:
    factors = Authenticator.objects.filter(user_id=person, type__in=FACTORS)
    return bool(factors.exists())


def people_with(roles: Collection[str]) -> QuerySet[User]:
    """Return the people with one of these roles. Superusers count as administrators."""
    concerned = Q(groups__role__name__in=roles)
    if RoleName.ADMINISTRATOR in roles:
        concerned |= Q(is_superuser=True)
    return User.objects.filter(concerned)


def lacking(people: Collection[int]) -> set[int]:
    """Return those of these people who have no second factor, though one of their roles needs it."""
    roles = settings.SECOND_FACTOR_ROLES
    if not roles or not people:
        return set()
    factors = Authenticator.objects.filter(user=OuterRef("pk"), type__in=FACTORS)
    rows = people_with(roles).filter(~Exists(factors), pk__in=any_of(people, int))
    return set(rows.values_list("pk", flat=True))


def stopped(people: Collection[int]) -> set[int]:
    """Return those of these people who can only set up a second factor until they have one."""
    since = settings.SECOND_FACTOR_FROM
    if since is not None and timezone.localdate() < since:
        return set()
    return lacking(people)
