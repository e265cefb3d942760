"""Suggestions of form fields: people and tools while someone types, and the person's earlier messages."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet

from approvals.models import ApprovalRequest, Decision
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.text.names import fold

MAX_SUGGESTIONS = 50
#: Maximum texts of an answer that are looked up as usernames.
MAX_NAMES = 500
#: Maximum number of tools examined.
MAX_TOOLS = 1000
#: How many of the person's latest decisions are searched, and how many messages are returned.
SEARCHED = 200
OFFERED = 3
#: Goes from one name to the next in an index that begins with the column.
NAMES = """
    WITH RECURSIVE names(name) AS (
        SELECT min({column}) FROM {table} WHERE {column} > %s
        UNION ALL
        SELECT (SELECT min({column}) FROM {table} WHERE {column} > names.name)
        FROM names WHERE names.name IS NOT NULL
    )
"""
#: The tools, each in the spelling of its latest request.
_TOOLS = (
    NAMES
    + """
    SELECT (
        SELECT tool_name FROM {table} WHERE {column} = names.name
        ORDER BY changed_at DESC, id DESC LIMIT 1
    ) FROM names WHERE name IS NOT NULL LIMIT %s
"""
)


def people_with(text: str) -> list[str]:
    """Return usernames of active people that contain a text."""
    people = User.objects.filter(username__icontains=text, is_active=True)
    return usernames(people, MAX_SUGGESTIONS)


def usernames(people: QuerySet[User], limit: int) -> list[str]:
    """Return the usernames of the first people, sorted."""
    return list(people.order_by("username").values_list("username", flat=True)[:limit])


def usernames_in(value: object) -> set[str]:
    """Return the usernames of active people in a JSON value; with more than MAX_NAMES texts, none is looked up."""
    left = [value]
    names = set[str]()
    while left:
        match left.pop():
            case dict() as members:
                left += members.values()
            case list() as items:
                left += items
            case str() as text if (
                0 < len(text) <= MAX_ACTOR_NAME and "\x00" not in text
            ):
                names.add(text)
    return set(
        User.objects.filter(
            username__in=sorted(names)[:MAX_NAMES], is_active=True
        ).values_list("username", flat=True)
    )


def tools_with(text: str) -> list[str]:
    """Return the names of tools that contain a text, each once, in the spelling of its latest request."""
    folded = fold(text)
    return [name for name in tool_names(MAX_TOOLS) if folded in fold(name)][
        :MAX_SUGGESTIONS
    ]


def tool_names(limit: int) -> list[str]:
    """Return the first tool names alphabetically, each once, in the spelling of its latest request."""
    with connection.cursor() as cursor:
        cursor.execute(
            _TOOLS.format(
                table=ApprovalRequest._meta.db_table, column="canonical_tool"
            ),
            ["", limit],
        )
        return [name for (name,) in cursor.fetchall()]


def last_messages(by: User, tool_name: str) -> list[str]:
    """Return this person's latest distinct messages on requests of a tool, latest first."""
    if not tool_name:
        return []
    latest = Decision.objects.filter(by_name=by.get_username()).order_by(
        "-decided_at", "-request"
    )
    sent = Decision.objects.filter(
        pk__in=latest.values("pk")[:SEARCHED],
        by_id=by.pk,
        request__canonical_tool=tool_name,
    )
    texts = (
        sent.exclude(comment="")
        .order_by("-decided_at")
        .values_list("comment", flat=True)
    )
    return list(dict.fromkeys(texts[: 5 * OFFERED]))[:OFFERED]
