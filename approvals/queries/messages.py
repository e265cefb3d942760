"""The messages that a person has sent with decisions on a tool."""

from __future__ import annotations

from approvals.access.permissions import Person
from approvals.models import Decision

#: How many of the person's latest decisions are searched, and how many messages are returned.
SEARCHED = 200
OFFERED = 3


def last_messages(user: Person, tool_name: str) -> list[str]:
    """Return the latest different messages of this person on requests of a tool, the latest first."""
    if not tool_name:
        return []
    latest = Decision.objects.filter(by_name=user.get_username()).order_by("-decided_at", "-request")
    sent = Decision.objects.filter(pk__in=latest.values("pk")[:SEARCHED], by_id=user.pk, request__tool_name=tool_name)
    texts = sent.exclude(comment="").order_by("-decided_at").values_list("comment", flat=True)
    return list(dict.fromkeys(texts[: 5 * OFFERED]))[:OFFERED]
