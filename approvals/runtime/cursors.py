"""Where a page of a list ends, as text for an address: a keyset, so that a deep page costs what the first one does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime


@dataclass(frozen=True, slots=True)
class Place:
    """The sort key of a list's row: how urgent, when, and which row; `2,2026-11-21T12:00:00.000000Z,42`."""

    urgency: int
    moment: datetime
    pk: int

    def __str__(self) -> str:
        return f"{self.urgency},{self.moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ},{self.pk}"


def place_from(text: str) -> Place | None:
    """The place that a text names; None for the first page, and for what is no place."""
    urgency, _, rest = text.partition(",")
    moment, _, pk = rest.partition(",")
    if not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in (urgency, pk)):
        return None
    try:
        found = parse_datetime(moment)
        if found is None or found.tzinfo is None:
            return None
        return Place(int(urgency), found.astimezone(UTC), int(pk))
    except (ValueError, OverflowError):
        return None


def number_from(text: str) -> int | None:
    """The id that a text names; None for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


@dataclass(frozen=True, slots=True)
class Mark:
    """The sort key of a request in a list by age; `2026-11-21T12:00:00.000000Z,` and its id."""

    moment: datetime
    pk: UUID

    def __str__(self) -> str:
        return f"{self.moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ},{self.pk}"


def mark_from(text: str) -> Mark | None:
    """The mark that a text names; None for what is none."""
    moment, _, pk = text.partition(",")
    try:
        found = parse_datetime(moment)
        if found is None or found.tzinfo is None:
            return None
        return Mark(found.astimezone(UTC), UUID(pk))
    except (ValueError, OverflowError):
        return None
