"""API keys, for administrators."""

from __future__ import annotations

from django.db.models import Q

from approvals.db.cursors import page_before
from approvals.models.keys import ApiKey

PAGE = 50


def keys(
    *, before: int | None = None, search: str = ""
) -> tuple[list[ApiKey], int | None]:
    """Return a page of API keys, newest first, and the id to continue before; None if there are no more."""
    rows = ApiKey.objects.select_related("user").order_by("-pk")
    if search:
        rows = rows.filter(
            Q(name__icontains=search)
            | Q(user__username__icontains=search)
            | Q(prefix=search)
        )
    return page_before(rows, before, PAGE)


def key(pk: int) -> ApiKey | None:
    """Return an API key with its user, or None if it is unknown or revoked."""
    return (
        ApiKey.objects.select_related("user", "made_by")
        .filter(pk=pk, revoked_at=None)
        .first()
    )
