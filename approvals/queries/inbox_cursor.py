"""Where a page of the inbox ends, as text for a query string: the sort key of its last row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime


@dataclass(frozen=True, slots=True)
class InboxCursor:
    """`2,2026-11-21T12:00:00.000000Z,<request id>,<group>`: urgency, moment, request, and its group if there is one.

    Lists sorted by moment alone have urgency 0.
    """

    urgency: int
    moment: datetime
    pk: UUID
    group: str = ""

    def __str__(self) -> str:
        return f"{self.urgency},{self.moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ},{self.pk},{self.group}"


def inbox_cursor_from(text: str) -> InboxCursor | None:
    """Parse a cursor; return None if the text is not one."""
    urgency, moment, pk, group = [*text.split(",", 3), "", "", "", ""][:4]
    if urgency not in {"0", "1", "2", "3"} or len(group) > 200:
        return None
    try:
        found = parse_datetime(moment)
        if found is None or found.tzinfo is None:
            return None
        return InboxCursor(int(urgency), found.astimezone(UTC), UUID(pk), group)
    except (ValueError, OverflowError):
        return None
