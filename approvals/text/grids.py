"""Recognize values that read best as a table: lists of flat objects, and texts in CSV. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from approvals.text.secrets import Hidden

#: Maximum rows and columns of a table.
MAX_ROWS = 1_000
MAX_COLUMNS = 30
#: Longer texts need a row of their own.
MAX_CELL = 200
#: Maximum numbers on one line.
MAX_NUMBERS = 30


def columns_of(items: Sequence[Any]) -> list[str]:
    """Return the names of the members if these are flat objects with mostly the same members; else nothing."""
    if len(items) < 2 or not all(item and isinstance(item, dict) for item in items):
        return []
    names = list(dict.fromkeys(name for item in items for name in item))
    count = sum(map(len, items))
    flat = all(_fits(cell) for item in items for cell in item.values())
    return names if flat and 2 * count >= len(names) * len(items) else []


def _fits(cell: Any) -> bool:
    if isinstance(cell, str):
        return (
            not isinstance(cell, Hidden) and len(cell) <= MAX_CELL and "\n" not in cell
        )
    return not (cell and isinstance(cell, dict | list)) or are_numbers(cell)


def are_numbers(value: Any) -> bool:
    """Return whether a value is a list of a few numbers or the like, which fits on one line."""
    return (
        isinstance(value, list)
        and len(value) < MAX_NUMBERS
        and all(isinstance(item, bool | int | float | None) for item in value)
    )


def csv_lines(text: str) -> list[list[str]]:
    """Return the cells of a CSV text, headings first; empty for other texts, and if a table would lose spaces."""
    separator = next((mark for mark in "\t;," if mark in text.partition("\n")[0]), "")
    plain = text.replace("\r\n", "\n")
    # Some programs end a row at a lone carriage return, too.
    if not separator or "\r" in plain or isinstance(text, Hidden):
        return []
    reader = csv.reader(
        io.StringIO(plain, newline=""), delimiter=separator, strict=True
    )
    try:
        lines = list(reader)
    except csv.Error:
        return []
    width = len(lines[0])
    even = all(len(line) == width and all(map(_is_cell, line)) for line in lines)
    return lines if even and len(lines) > 2 and width > 1 else []


def _is_cell(text: str) -> bool:
    return len(text) <= MAX_CELL and text == text.strip()
