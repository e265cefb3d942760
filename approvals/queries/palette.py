"""The search of the command palette."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import F

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.queries.search import with_words
from approvals.queries.suggestions import usernames

MAX_FOUND = 8
MAX_PEOPLE = 200


def requests_found(viewer: Standing, q: str) -> list[Any]:
    """Return the newest requests with these words that the person may see, each with its `decided_verdict`."""
    requests = (
        with_words(queries.requests_for(viewer), q)
        .select_related(None)
        .annotate(decided_verdict=F("decision__verdict"))
        .order_by("-created_at", "-id")
    )
    return list(requests.only("pk", "title", "kind", "status")[:MAX_FOUND])


def people_for(user: User, viewer: Standing) -> list[str]:
    """Return the usernames of active people for viewers who see everyone's requests; otherwise only their own."""
    if not permissions.sees_everything(viewer):
        return [user.get_username()]
    return usernames(User.objects.filter(is_active=True), MAX_PEOPLE)
