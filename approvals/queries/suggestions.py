"""What fields suggest: people and tools while someone types, and the messages that a person sent before."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection

from approvals.models import ApprovalRequest, Decision
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.text.canonical_names import fold

MAX_SUGGESTIONS = 50
#: Texts of an answer that are looked up as usernames.
MAX_NAMES = 500
#: Only so many tools are looked at.
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
#: The tools in the spelling of the latest request of each.
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
    """Return usernames that contain a text; of active people."""
    people = User.objects.filter(username__icontains=text, is_active=True).order_by("username")
    return list(people.values_list("username", flat=True)[:MAX_SUGGESTIONS])


def usernames_in(value: object) -> set[str]:
    """Return the usernames of active people among the texts in a JSON value; beyond MAX_NAMES texts, none is looked up."""
    left, names = [value], set[str]()
    while left:
        match left.pop():
            case dict() as members:
                left += members.values()
            case list() as items:
                left += items
            case str() as text if 0 < len(text) <= MAX_ACTOR_NAME and "\x00" not in text:
                names.add(text)
    return set(
        User.objects.filter(username__in=sorted(names)[:MAX_NAMES], is_active=True).values_list("username", flat=True)
    )


def tools_with(text: str) -> list[str]:
    """Return the names of tools that contain a text, each once, as its latest request has it."""
    folded = fold(text)
    return [name for name in tool_names(MAX_TOOLS) if folded in fold(name)][:MAX_SUGGESTIONS]


def tool_names(limit: int) -> list[str]:
    """Return the names of the first tools by name, each once, as its latest request has it."""
    with connection.cursor() as cursor:
        cursor.execute(_TOOLS.format(table=ApprovalRequest._meta.db_table, column="canonical_tool"), ["", limit])
        return [name for (name,) in cursor.fetchall()]


def last_messages(by: User, tool_name: str) -> list[str]:
    """Return the latest different messages of this person on requests of a tool, the latest first."""
    if not tool_name:
        return []
    latest = Decision.objects.filter(by_name=by.get_username()).order_by("-decided_at", "-request")
    sent = Decision.objects.filter(
        pk__in=latest.values("pk")[:SEARCHED], by_id=by.pk, request__canonical_tool=tool_name
    )
    texts = sent.exclude(comment="").order_by("-decided_at").values_list("comment", flat=True)
    return list(dict.fromkeys(texts[: 5 * OFFERED]))[:OFFERED]
