"""Forms that hold a value, and the texts of its fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking.answers import ABSENT
from approvals.forms.fields import SECRET, FormControl, Offer, Widget
from approvals.forms.from_schema import MAX_FIELDS, form_from_schema, row_of
from approvals.forms.simple_fields import LONG_TEXT
from approvals.forms.texts import index_of, text_for
from approvals.json_types import JsonMapping
from approvals.text.secrets import Hidden
from approvals.text.text import visible_name

MAX_ROWS = 1_000
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def edit_form(
    value: JsonMapping, schema: JsonMapping | None, label: str
) -> FormControl:
    """Return the form for editing a value, built from its schema, and from the value where the schema does not describe it."""
    form = (
        form_from_schema(schema, label)
        if schema is not None
        else FormControl(widget=Widget.GROUP, label=label)
    )
    if form.widget != Widget.GROUP:
        form = FormControl(widget=Widget.GROUP, label=label)
    groups = {
        child.path[-1]: child.widget == Widget.GROUP
        for child in form.children
        if not child.merged
    }
    least = sum(
        len(item) if isinstance(item, dict) and groups.get(name, True) else 1
        for name, item in value.items()
    )
    # Count before building, to avoid thousands of fields, and again afterwards, because the schema may add some.
    if least <= MAX_FIELDS:
        form = _bound(form, value)
        if sum(1 for leaf in form.leaves()) <= MAX_FIELDS:
            return form
    return FormControl(widget=Widget.JSON, label=label)


def _bound(control: FormControl, value: Any) -> FormControl:
    """Return a control that can hold this value: the given one if it can, else another."""
    if isinstance(value, Hidden) and value.is_whole:
        return _of_secret(control, value)
    if value is ABSENT:
        # A default was not proposed: changing another field must not add it.
        return replace(
            control,
            default=ABSENT,
            children=tuple(_bound(child, ABSENT) for child in control.children),
        )
    if control.widget == Widget.GROUP and isinstance(value, dict):
        known = {
            child.path[-1]: child for child in control.children if not child.merged
        }
        children = [
            _bound(child, value.get(name, ABSENT)) for name, child in known.items()
        ]
        cases = [child for child in control.children if child.when is not None]
        # Proposed members can be changed in any case; other members of a case can be added only in that case.
        in_cases = {
            name: replace(child, required=False)
            for case in cases
            for name, child in _fields_of(case)
        }
        for number, name in enumerate(
            [name for name in value if name not in known], MAX_FIELDS
        ):
            place = (*control.place, number)
            field = in_cases.get(name)
            children.append(
                _by_value(value[name], (*control.path, name), place)
                if field is None
                else _bound(field, value[name])
            )
        children += [_bound(_without(case, value), ABSENT) for case in cases]
        return replace(control, children=tuple(children))
    if (
        control.widget in {Widget.LINE, Widget.LINES}
        and control.input_type == "text"
        and isinstance(value, str)
    ):
        return replace(control, widget=_text_widget(value))
    if control.widget == Widget.ROWS and isinstance(value, list):
        control = _with_room(control, value)
    return (
        control
        if can_hold(control, value)
        else replace(control, widget=Widget.JSON, nullable=False)
    )


def _of_secret(control: FormControl, hidden: Hidden) -> FormControl:
    """Return the field that replaces a secret; leaving it empty keeps the secret."""
    return FormControl(
        widget=Widget.LINES if hidden.has_lines else Widget.LINE,
        label=control.label,
        path=control.path,
        place=control.place,
        help=_("Hidden. Leave it empty to keep the current value."),
        required=control.required,
        input_type=SECRET,
    )


def _fields_of(case: FormControl) -> Iterator[tuple[str, FormControl]]:
    for child in case.children:
        if not child.merged:
            yield child.path[-1], child
        elif child.when is not None:
            yield from _fields_of(child)


def _without(case: FormControl, names: Collection[str]) -> FormControl:
    """Return the fields of a case except those with these names, without a choice of shapes."""
    return replace(
        case,
        children=tuple(
            _without(child, names) if child.merged else child
            for child in case.children
            if (child.when is not None if child.merged else child.path[-1] not in names)
        ),
    )


def _by_value(value: Any, path: tuple[str, ...], place: tuple[int, ...]) -> FormControl:
    plain = FormControl(
        widget=Widget.JSON, label=visible_name(path[-1]), path=path, place=place
    )
    match value:
        case Hidden() if value.is_whole:
            return _of_secret(plain, value)
        case bool():
            return replace(
                plain,
                widget=Widget.CHOICE,
                offers=(Offer("true", True), Offer("false", False)),
            )
        case int() | float():
            return replace(plain, widget=Widget.NUMBER)
        case str():
            return replace(plain, widget=_text_widget(value))
        case dict() if value and len(path) == 1:
            return _bound(replace(plain, widget=Widget.GROUP), value)
        case list() if (row := _row_by_values(plain, value)) is not None:
            return _bound(replace(plain, widget=Widget.ROWS, item=row), value)
        case list() if all(isinstance(item, str) for item in value):
            # An empty list, too: without a schema, most of them take texts.
            item = replace(plain, widget=Widget.LINE)
            return _bound(replace(plain, widget=Widget.LIST, item=item), value)
        case _:
            return plain


def _row_by_values(plain: FormControl, value: list[Any]) -> FormControl | None:
    """Return the fields of each object in a list without a schema; None if they differ too much, or nest."""
    if not value or not all(isinstance(item, dict) for item in value):
        return None
    names = list(dict.fromkeys(name for item in value for name in item))
    columns = []
    for number, name in enumerate(names):
        cells = [item[name] for item in value if name in item]
        column = _by_value(cells[0], (*plain.path, name), (*plain.place, number))
        columns.append(replace(column, required=len(cells) == len(value)))
    return row_of(plain, tuple(columns))


def _with_room(control: FormControl, value: list[Any]) -> FormControl:
    """Return rows with multi-line texts in the columns where the value needs them."""
    assert control.item is not None
    columns = []
    for column in control.item.children:
        cells = [item.get(column.path[-1]) for item in value if isinstance(item, dict)]
        long = any(
            isinstance(cell, str) and _text_widget(cell) == Widget.LINES
            for cell in cells
        )
        is_text = column.widget == Widget.LINE and column.input_type == "text"
        if column.input_type == SECRET:
            # Rows may be moved and removed, so an empty field would not identify the secret to keep.
            column = replace(column, input_type="text")
        columns.append(
            replace(column, widget=Widget.LINES) if is_text and long else column
        )
    return replace(control, item=replace(control.item, children=tuple(columns)))


def _text_widget(value: str) -> Widget:
    """Return the widget for a text: one line, unless it has several or would not fit."""
    return (
        Widget.LINES
        if re.search(r"[\r\n]", value) or len(value) > LONG_TEXT
        else Widget.LINE
    )


def can_hold(control: FormControl, value: Any) -> bool:
    """Return whether the control's fields can show the value so that it comes back unchanged."""
    if value is None and control.widget in {Widget.LINE, Widget.LINES, Widget.NUMBER}:
        return control.nullable
    match control.widget, value:
        case (Widget.LINE, str()):
            return not re.search(r"[\r\n]", value) and _is_of_type(
                control.input_type, value
            )
        case (Widget.LINES, str()) | (Widget.JSON, _) | (Widget.GROUP, dict()):
            return True
        case (Widget.NUMBER, int() | float()):
            return not isinstance(value, bool)
        case (Widget.CHOICE | Widget.FIXED, _):
            return index_of(control, value) is not None
        case (Widget.SEVERAL, list()):
            indexes = [index_of(control, item) for item in value]
            return None not in indexes and sorted(set(indexes), key=str) == sorted(
                indexes, key=str
            )
        case (Widget.LIST, list()):
            assert control.item is not None
            fit = all(
                can_hold(control.item, item) and text_for(control.item, item).strip()
                for item in value
            )
            return fit and len(value) <= MAX_ROWS
        case (Widget.ROWS, list()):
            assert control.item is not None
            room = len(value) * len(control.item.children) <= MAX_FIELDS
            return room and all(_can_hold_row(control.item, item) for item in value)
        case _:
            return False


def _can_hold_row(row: FormControl, value: Any) -> bool:
    """Return whether the fields of a row can show an object: an empty field is an absent value, and an empty row is no object."""
    if not isinstance(value, dict):
        return False
    columns = {column.path[-1]: column for column in row.children}
    fixed = {name for name, column in columns.items() if column.widget == Widget.FIXED}
    return fixed < value.keys() <= columns.keys() and all(
        can_hold(columns[name], item)
        and (name in fixed or bool(text_for(columns[name], item).strip()))
        for name, item in value.items()
    )


def texts_of_row(row: FormControl, value: Any) -> list[str]:
    """Return the texts of the fields of a row."""
    known = value if isinstance(value, dict) else {}
    return [
        text_for(column, known.get(column.path[-1], ABSENT))
        for column in entered_in(row)
    ]


def entered_in(row: FormControl) -> list[FormControl]:
    """Return the columns that a person fills in."""
    return [column for column in row.children if column.widget != Widget.FIXED]


def _is_of_type(input_type: str, value: str) -> bool:
    wanted = {"date": _DAY, "datetime-local": _MOMENT}.get(input_type)
    return wanted is None or wanted.fullmatch(value) is not None
