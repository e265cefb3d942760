"""The fields of a form for display: with their values, the entries from before a refusal, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from approvals.asking.answers import ABSENT
from approvals.db.cursors import number_from
from approvals.forms.fields import FormControl, Widget
from approvals.forms.reading import MAX_DIGITS
from approvals.forms.texts import index_of, text_for
from approvals.forms.values import can_hold, entered_in, texts_of_row
from approvals.text.numbers import decimal_separator
from approvals.text.text import normalize_newlines

#: Empty rows of a list, for people without JavaScript; scripts add more as needed.
EMPTY_ROWS = 2
#: Widgets whose value is one text.
SINGLE = frozenset({Widget.LINE, Widget.LINES, Widget.NUMBER, Widget.FILE, Widget.JSON})


@dataclass(frozen=True, slots=True)
class ListItem:
    """One value of a list: its text, or the fields of an object."""

    id: str
    value: str = ""
    error: str = ""
    cells: Sequence[RenderedField] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedField:
    """The context of `approvals/forms/_field.html`.

    `chosen` holds indexes of the control's offers. A `free` field is in an optional group or in a case: it is required only if
    another field of the group is filled in, or if its case applies. One `in_row` is a cell of a list of objects. `was` is the
    proposed text, if another one was typed. `names` is the prefix of the names of all fields of the form.
    """

    control: FormControl
    id: str
    name: str
    key: str
    value: str = ""
    chosen: frozenset[int] = frozenset()
    rows: Sequence[ListItem] = ()
    children: Sequence[RenderedField] = ()
    error: str = ""
    free: bool = False
    in_row: bool = False
    was: str = ""
    names: str = ""

    @property
    def kind(self) -> str:
        return str(self.control.widget)

    @property
    def described(self) -> str:
        """The ids of the elements that describe the field."""
        zone = self.control.input_type == "datetime-local"
        texts = {
            "zone": zone,
            "hint": self.control.help or self.control.limits,
            "error": self.error,
        }
        return " ".join(f"{self.id}-{name}" for name, text in texts.items() if text)

    @property
    def is_single(self) -> bool:
        """Whether it is one input, text area or drop-down, and not a group of them."""
        return self.control.widget in SINGLE or (
            self.control.widget == Widget.CHOICE and self.is_dropdown
        )

    @property
    def sends_files(self) -> bool:
        """Whether it, or a field below it, accepts a file."""
        return any(field.control.widget == Widget.FILE for field in self.walk())

    @property
    def is_plain(self) -> bool:
        """Whether it has only a label: no hint, no error, and the browser does not require it."""
        return not (self.described or self.browser_required or self.was)

    @property
    def browser_required(self) -> bool:
        """Whether the browser requires it. Not when editing: a text of the proposed input may be empty on purpose."""
        return self.about_answer and self.required and not self.control.nullable

    @property
    def required(self) -> bool:
        return self.control.required and not self.free

    @property
    def about_answer(self) -> bool:
        return self.key.partition(".")[0] == "answer"

    @property
    def height(self) -> int:
        """The initial number of rows of a multi-line field."""
        return max(
            3 if self.kind == Widget.JSON else 1, min(12, self.value.count("\n") + 1)
        )

    @property
    def offers(self) -> list[tuple[int, str, bool]]:
        """Each offer as (index, label, whether it is chosen)."""
        return [
            (index, offer.label, index in self.chosen)
            for index, offer in enumerate(self.control.offers)
        ]

    @property
    def is_dropdown(self) -> bool:
        """Whether there are too many options for radio buttons, or too little room."""
        return self.in_row or len(self.control.offers) > 5

    @property
    def test(self) -> str:
        """The test of a case for `static/pausepoint/cases.js`; empty if a script cannot evaluate it."""
        when = self.control.when
        return "" if when is None or when.test is None else json.dumps(when.test)

    @property
    def decimal_separator(self) -> str:
        """The decimal separator for typed numbers, for the same script."""
        return decimal_separator()

    @property
    def shapes(self) -> list[tuple[RenderedField, str]]:
        """Each shape with the test for it."""
        name = self.control.name("")
        return [
            (child, json.dumps(["in", name, [str(number)]]))
            for number, child in enumerate(self.children)
        ]

    def walk(self) -> Iterator[RenderedField]:
        """Yield the field and all fields below it."""
        yield self
        for child in (
            *self.children,
            *(cell for row in self.rows for cell in row.cells),
        ):
            yield from child.walk()


def _member(control: FormControl, child: FormControl, value: Any) -> Any:
    """Return the value for a child's field; a case has the members of the object around it."""
    if child.when is not None:
        return value
    known = (
        value
        if isinstance(value, dict)
        and control.widget == Widget.GROUP
        and not child.merged
        else {}
    )
    return known.get(child.path[-1], ABSENT) if known else ABSENT


@dataclass(frozen=True, slots=True)
class FormView:
    """Builds the fields of a form. Ids begin with `prefix`, field names with `names`, and keys of errors with `about`."""

    prefix: str
    names: str
    about: str
    errors: Mapping[str, str]
    typed: QueryDict | None = None

    def field(
        self, control: FormControl, value: Any = ABSENT, *, free: bool = False
    ) -> RenderedField:
        """Return the field with a value, or with the typed text."""
        if (
            value is ABSENT
            and self.typed is None
            and control.default is not ABSENT
            and can_hold(control, control.default)
        ):
            value = control.default
        name = control.name(self.names)
        key = ".".join([self.about, *control.path])
        identity = "-".join([self.prefix, self.names, *map(str, control.place)])
        return RenderedField(
            control=control,
            id=identity,
            name=name,
            key=key,
            value=self._text(control, name, value),
            chosen=self._chosen(control, name, value),
            rows=self._rows(control, name, value, identity, key),
            children=[
                self.field(
                    child,
                    _member(control, child, value),
                    free=free or control.merged or not control.required,
                )
                for child in control.children
            ],
            names=self.names,
            error=self._error(control, key),
            free=free,
            was=text_for(control, value)
            if self.typed is not None and control.widget in SINGLE
            else "",
        )

    def _text(self, control: FormControl, name: str, value: Any) -> str:
        if self.typed is not None:
            return normalize_newlines(self.typed.get(name, ""))
        return text_for(control, value) if control.widget in SINGLE else ""

    def _chosen(self, control: FormControl, name: str, value: Any) -> frozenset[int]:
        if self.typed is not None:
            sent = {
                number_from(text, digits=MAX_DIGITS)
                for text in self.typed.getlist(name)
            }
            return frozenset(number for number in sent if number is not None)
        if not control.offers:
            return frozenset()
        values = (
            value
            if control.widget == Widget.SEVERAL and isinstance(value, list)
            else [value]
        )
        places = [index_of(control, each) for each in values if each is not ABSENT]
        return frozenset(place for place in places if place is not None)

    def _rows(
        self, control: FormControl, name: str, value: Any, identity: str, key: str
    ) -> list[ListItem]:
        if control.item is None:
            return []
        if control.widget == Widget.ROWS:
            return self._objects(control, control.item, value, identity, key)
        if self.typed is not None:
            texts = [
                normalize_newlines(text)
                for text in self.typed.getlist(name)
                if text.strip()
            ]
        else:
            texts = (
                [text_for(control.item, item) for item in value]
                if isinstance(value, list)
                else []
            )
        room = (
            len(texts) + EMPTY_ROWS
            if control.most is None
            else max(control.most, len(texts))
        )
        texts += [""] * min(EMPTY_ROWS, room - len(texts))
        return [
            ListItem(
                f"{identity}-row{number}", text, self.errors.get(f"{key}.{number}", "")
            )
            for number, text in enumerate(texts)
        ]

    def _objects(
        self,
        control: FormControl,
        row: FormControl,
        value: Any,
        identity: str,
        key: str,
    ) -> list[ListItem]:
        columns = entered_in(row)
        if self.typed is not None:
            sent = [
                [
                    normalize_newlines(text)
                    for text in self.typed.getlist(each.name(self.names))
                ]
                for each in columns
            ]
            texts = [
                list(each)
                for each in zip(*sent, strict=False)
                if any(text.strip() for text in each)
            ]
        else:
            texts = (
                [texts_of_row(row, item) for item in value]
                if isinstance(value, list)
                else []
            )
        if control.most is None or len(texts) < control.most:
            texts.append([""] * len(columns))
        return [
            ListItem(
                f"{identity}-row{number}",
                error=self.errors.get(f"{key}.{number}", ""),
                cells=[
                    self._cell(
                        column,
                        text,
                        f"{identity}-row{number}-{place}",
                        f"{key}.{number}.{column.path[-1]}",
                    )
                    for place, (column, text) in enumerate(
                        zip(columns, cells, strict=True)
                    )
                ],
            )
            for number, cells in enumerate(texts)
        ]

    def _cell(
        self, column: FormControl, text: str, identity: str, key: str
    ) -> RenderedField:
        chosen = (
            number_from(text, digits=MAX_DIGITS)
            if column.widget == Widget.CHOICE
            else None
        )
        return RenderedField(
            control=column,
            id=identity,
            name=column.name(self.names),
            key=key,
            value=text,
            chosen=frozenset() if chosen is None else frozenset({chosen}),
            error=self._error(column, key),
            free=True,
            in_row=True,
        )

    def _error(self, control: FormControl, key: str) -> str:
        """Return the errors of a value; for a value with a single field, also the errors within it, with their paths."""
        errors = [self.errors[key]] if key in self.errors else []
        if control.widget not in {
            Widget.GROUP,
            Widget.LIST,
            Widget.ROWS,
            Widget.SHAPES,
        }:
            within = {
                name: error
                for name, error in self.errors.items()
                if name.startswith(f"{key}.")
            }
            errors += [
                f"{name[len(key) + 1 :]}: {error}" for name, error in within.items()
            ]
        return "; ".join(errors)
