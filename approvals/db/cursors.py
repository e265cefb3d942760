"""Cursors: a row's sort key as text in an address, so that a deep page of a list costs as much as the first one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Self, TypeVar, get_type_hints
from uuid import UUID

from django.db.models import Model, QuerySet
from django.utils.dateparse import parse_datetime

from approvals.db.canonical_json import utc

Row = TypeVar("Row", bound=Model)


def number_from(text: str, *, digits: int = 18) -> int | None:
    """Return the number in `text` from an address, if it consists of at most `digits` ASCII digits; otherwise None."""
    return (
        int(text)
        if text.isascii() and text.isdecimal() and len(text) <= digits
        else None
    )


def take_page(rows: QuerySet[Row], limit: int) -> tuple[list[Row], bool]:
    """Return the first `limit` rows, and whether there are more."""
    page = list(rows[: limit + 1])
    return page[:limit], len(page) > limit


def page_before(
    rows: QuerySet[Row], before: int | None, limit: int
) -> tuple[list[Row], int | None]:
    """Return a page of rows, the newest first, and the id before which the next one begins; None if there are no more."""
    shown, more = take_page(rows.filter(pk__lt=before) if before else rows, limit)
    return shown, shown[-1].pk if more else None


@dataclass(frozen=True, slots=True)
class Cursor:
    """Base of all cursors: each list subclasses it with its sort fields.

    As text, the fields are joined by SEPARATOR: `2,2026-11-21T12:00:00.000000Z,42`. A subclass rejects values that its list does
    not have by raising ValueError in `__post_init__`.
    """

    SEPARATOR: ClassVar[str] = ","

    def __str__(self) -> str:
        return self.SEPARATOR.join(map(_format, astuple(self)))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the cursor in `text` from an address; None if it is invalid."""
        parsers = _parsers(cls)
        parts = text.split(cls.SEPARATOR, len(parsers) - 1)
        try:
            return cls(
                *(parse(part) for parse, part in zip(parsers, parts, strict=True))
            )
        except (ValueError, OverflowError):
            return None


def _format(value: object) -> str:
    return utc(value) if isinstance(value, datetime) else str(value)


def _number(text: str) -> int:
    if (number := number_from(text)) is None:
        raise ValueError(text)
    return number


def _moment(text: str) -> datetime:
    moment = parse_datetime(text)
    if moment is None or moment.tzinfo is None:
        raise ValueError(text)
    return moment.astimezone(UTC)


def _key(text: str) -> int | UUID:
    number = number_from(text)
    return UUID(text) if number is None else number


_PARSERS: dict[Any, Callable[[str], object]] = {
    int: _number,
    datetime: _moment,
    UUID: UUID,
    int | UUID: _key,
    str: str,
}


def _parsers(kind: type[Cursor]) -> tuple[Callable[[str], object], ...]:
    types = get_type_hints(kind)
    return tuple(_PARSERS[types[field.name]] for field in fields(kind))
