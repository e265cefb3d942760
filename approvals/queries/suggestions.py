"""What the fields for a person and for a tool suggest while someone types."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection

MAX_SUGGESTIONS = 50
#: Only so many tools are looked at.
MAX_TOOLS = 1000
#: Goes from one name to the next in an index that begins with the column.
NAMES = """
    WITH RECURSIVE names(name) AS (
        SELECT min({column}) FROM approvals_approvalrequest WHERE {column} > %s
        UNION ALL
        SELECT (SELECT min({column}) FROM approvals_approvalrequest WHERE {column} > names.name)
        FROM names WHERE names.name IS NOT NULL
    )
"""


def people_with(text: str) -> list[str]:
    """Return usernames that contain a text; of active people."""
    people = User.objects.filter(username__icontains=text, is_active=True).order_by("username")
    return list(people.values_list("username", flat=True)[:MAX_SUGGESTIONS])


def tools_with(text: str) -> list[str]:
    """Return the names of tools that contain a text."""
    folded = text.lower()
    return [name for name in tool_names(MAX_TOOLS) if folded in name.lower()][:MAX_SUGGESTIONS]


def tool_names(limit: int) -> list[str]:
    """Return the names of the first tools by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"{NAMES} SELECT name FROM names WHERE name IS NOT NULL LIMIT %s".format(column="tool_name"), ["", limit]
        )
        return [name for (name,) in cursor.fetchall()]
