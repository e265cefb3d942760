"""What the fields for a person and for a tool suggest while someone types."""

from __future__ import annotations

from django.contrib.auth.models import User

from approvals.queries.administration.tools import tool_names

MAX_SUGGESTIONS = 50
#: Only so many tools are looked at.
MAX_TOOLS = 1000


def people_with(text: str) -> list[str]:
    """Return usernames that contain a text; of active people."""
    people = User.objects.filter(username__icontains=text, is_active=True).order_by("username")
    return list(people.values_list("username", flat=True)[:MAX_SUGGESTIONS])


def tools_with(text: str) -> list[str]:
    """Return the names of tools that contain a text."""
    folded = text.lower()
    return [name for name in tool_names(MAX_TOOLS) if folded in name.lower()][:MAX_SUGGESTIONS]
