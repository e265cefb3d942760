"""When one administrator is not enough."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from approvals.access.rights import ADMINISTER, holds
from approvals.access.standing import Standing


def needs_second(by: Standing) -> bool:
    """Return whether another administrator has to confirm what this one loosens.

    Superusers need none, because they can change every row in Django's admin.
    """
    return not (by.is_superuser or settings.HITL_ONE_ADMINISTRATOR) and _others_administer(by)


def administrators() -> QuerySet[User]:
    """Return everyone who has the right to administer, deactivated people included."""
    return User.objects.filter(Q(is_superuser=True) | holds(ADMINISTER, "pk"))


def _others_administer(by: Standing) -> bool:
    """Return whether someone else has the right to administer.

    Deactivated people count: otherwise an administrator could deactivate the others, and then loosen everything alone.
    """
    return administrators().exclude(pk=by.pk).exists()
