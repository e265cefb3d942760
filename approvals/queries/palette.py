"""The search of the command palette."""

from __future__ import annotations

from django.contrib.auth.models import User

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest
from approvals.queries.search import with_words
from approvals.queries.suggestions import usernames

MAX_FOUND = 8
MAX_PEOPLE = 200


def requests_found(viewer: Standing, q: str) -> list[ApprovalRequest]:
    """Return the newest requests with these words that the person may see, each with its decision."""
    requests = (
        with_words(queries.requests_for(viewer), q)
        .select_related(None)
        .select_related("decision")
        .order_by("-created_at", "-id")
    )
    shown = ("title", "kind", "status", "decision__verdict", "decision__break_glass")
    return list(requests.only(*shown)[:MAX_FOUND])


def people_for(user: User, viewer: Standing) -> list[str]:
    """Return the usernames of active people for viewers who see everyone's requests; otherwise only their own."""
    if not permissions.sees_everything(viewer):
        return [user.get_username()]
    return usernames(User.objects.filter(is_active=True), MAX_PEOPLE)
