"""Check whether a change needs a second administrator."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from approvals.access.rights import ADMINISTER, holds
from approvals.access.standing import Standing
from approvals.models import BreakGlassAccount


def needs_second(by: Standing) -> bool:
    """Return whether another administrator has to confirm when `by` loosens something.

    Superusers do not need this, because they can change every row in Django's admin.
    """
    return not (
        by.is_superuser or settings.HITL_ONE_ADMINISTRATOR
    ) and _others_administer(by)


def break_glass_account() -> User | None:
    """Return the account that keeps its password while only single sign-on is allowed."""
    account = BreakGlassAccount.objects.select_related("person").first()
    return None if account is None else account.person


def can_break_glass(person: User) -> bool:
    """Return whether a person could log in with a password and administer."""
    return (
        person.is_active
        and person.has_usable_password()
        and administrators().filter(pk=person.pk).exists()
    )


def administrators() -> QuerySet[User]:
    """Return all users with the right to administer, deactivated ones included."""
    return User.objects.filter(Q(is_superuser=True) | holds(ADMINISTER, "pk"))


def _others_administer(by: Standing) -> bool:
    """Return whether anyone else has the right to administer.

    Deactivated people count: otherwise an administrator could deactivate the others and then loosen everything alone.
    """
    return administrators().exclude(pk=by.pk).exists()
