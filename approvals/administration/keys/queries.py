"""API keys, for administrators, and for the people whose keys they are."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from approvals.access.permissions import may_administer
from approvals.access.standing import Standing
from approvals.db.cursors import page_before
from approvals.models.keys import ApiKey

PAGE = 50


def keys(
    viewer: Standing, *, before: int | None = None, search: str = ""
) -> tuple[list[ApiKey], int | None]:
    """Return a page of the API keys that this person may see, newest first, and the id to continue before, or None."""
    rows = _seen_by(viewer).order_by("-pk")
    if search:
        rows = rows.filter(
            Q(name__icontains=search)
            | Q(user__username__icontains=search)
            | Q(prefix=search)
        )
    return page_before(rows, before, PAGE)


def key(pk: int, viewer: Standing) -> ApiKey | None:
    """Return an API key with its user, or None if it is unknown, revoked, or someone else's."""
    return _seen_by(viewer).filter(pk=pk, revoked_at=None).first()


def _seen_by(viewer: Standing) -> QuerySet[ApiKey]:
    rows = ApiKey.objects.select_related("user", "made_by").filter(issuer=None)
    return rows if may_administer(viewer) else rows.filter(user=viewer.pk)
