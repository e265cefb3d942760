"""The fields of a form that is made from a JSON Schema or from a value: what each asks for, in plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from approvals.asking.answers import ABSENT


class Widget(StrEnum):
    """How a value is asked for. FIXED is not asked for: there is only one."""

    LINE = "line"
    LINES = "lines"
    NUMBER = "number"
    CHOICE = "choice"
    SEVERAL = "several"
    LIST = "list"
    GROUP = "group"
    JSON = "json"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Offer:
    """One value to choose, and the words for it."""

    words: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A field, or a group of them. `path` are the names that lead to its value, `place` its numbers among its siblings.

    `item` is how each value of a LIST is asked for, `offers` what a CHOICE, SEVERAL or FIXED offers;
    `limits` says in words what the schema allows.
    """

    widget: Widget
    label: str
    path: tuple[str, ...] = ()
    place: tuple[int, ...] = ()
    help: str = ""
    limits: str = ""
    required: bool = True
    nullable: bool = False
    input_type: str = "text"
    offers: tuple[Offer, ...] = ()
    item: Control | None = None
    children: tuple[Control, ...] = ()
    default: Any = ABSENT
    most: int | None = None

    def name(self, prefix: str) -> str:
        """The name that its form field has."""
        # A dot in a name of the client's is not one of ours.
        return ".".join([prefix, *(part.replace("~", "~0").replace(".", "~1") for part in self.path)])

    def leaves(self) -> Iterator[Control]:
        """Every field that a person fills in."""
        if self.widget != Widget.GROUP:
            yield self
        for child in self.children:
            yield from child.leaves()
