"""The fields of forms that are built from a JSON Schema or from a value, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from approvals.asking.answers import ABSENT

#: The input type of a field that hides its characters.
SECRET = "password"  # noqa: S105 - a word of HTML


class Widget(StrEnum):
    """How a value is entered. FIXED is not entered: the schema allows only one value."""

    LINE = "line"
    LINES = "lines"
    NUMBER = "number"
    CHOICE = "choice"
    SEVERAL = "several"
    LIST = "list"
    ROWS = "rows"
    GROUP = "group"
    SHAPES = "shapes"
    FILE = "file"
    JSON = "json"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """When a group of fields applies: while the object around it matches `schema`, a part of `root`; with `negated`, while not.

    `words` describes this, if it is simple; `test` is the same for scripts, in lists, with names of fields; None if impossible.
    """

    root: Mapping[str, Any]
    schema: Any
    negated: bool
    words: str = ""
    test: Any = None


@dataclass(frozen=True, slots=True)
class Offer:
    """One value to choose, and its label."""

    label: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FormControl:
    """A field or a group of fields.

    `path` has the names that lead to its value, `place` its index at each level; `item` is the field of each value of a LIST, or
    the group of fields of each row of ROWS, `offers` the values of a CHOICE, SEVERAL or FIXED, and `limits` the schema's limits
    as text. SHAPES offers one of its `children`, whose fields alone count.

    The values of a `merged` group belong to the object around it: that of a shape, or of a group which applies `when` its
    condition holds. `branch` keeps the names of its fields apart from those of others with the same path. `unit` is the currency
    of an amount; `person` means that the value is a username.
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
    item: FormControl | None = None
    children: tuple[FormControl, ...] = ()
    default: Any = ABSENT
    most: int | None = None
    merged: bool = False
    when: FieldCondition | None = None
    branch: str = ""
    unit: str = ""
    person: bool = False

    def name(self, prefix: str) -> str:
        """Return the name of the form field."""
        # Escape dots in the client's names, because dots separate levels.
        return (
            ".".join(
                [
                    prefix,
                    *(part.replace("~", "~0").replace(".", "~1") for part in self.path),
                ]
            )
            + self.branch
        )

    def leaves(self) -> Iterator[FormControl]:
        """Yield every field that a person fills in."""
        if self.widget != Widget.GROUP:
            yield self
        for child in self.children:
            yield from child.leaves()
