"""Forms from JSON Schemas: text, numbers, dates, choices, lists of these, rows of these, one level of objects, cases and
shapes of objects; the rest is JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.asking.answers import ABSENT
from approvals.forms.cases import (
    BEYOND_FIELDS,
    CASES,
    SHAPES,
    BeyondFields,
    Parts,
    condition_of,
    fixed_value,
    parts_of,
    told_apart_by,
)
from approvals.forms.fields import Condition, Control, Offer, Widget
from approvals.forms.limits import count_limits, label_for, label_of, number_limits, text_of
from approvals.forms.simple_fields import offers_of, text_field
from approvals.schema.formats import currency_of
from approvals.schema.references import NoTarget, follow_references
from approvals.text.text import visible

#: A form with more fields becomes one JSON field.
MAX_FIELDS = 200
#: Keywords of lists that fields cannot express.
BEYOND_LISTS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "prefixItems", "contains"})


#: Keywords of the objects of a list that its rows cannot express.
BEYOND_ROWS = BEYOND_FIELDS | CASES | {*SHAPES}
#: How deep cases and shapes may be nested in each other.
MAX_BRANCHES = 8
#: What a shape without a title is called.
KINDS = {
    "string": gettext_lazy("Text"),
    "number": gettext_lazy("Number"),
    "integer": gettext_lazy("Whole number"),
    "boolean": gettext_lazy("Yes or no"),
    "array": gettext_lazy("List"),
    "object": gettext_lazy("Object"),
}
#: What a cell of a list of objects may be.
CELLS = frozenset({Widget.LINE, Widget.LINES, Widget.NUMBER, Widget.CHOICE, Widget.FIXED})


class _TooMany(Exception):
    """The form would have more than MAX_FIELDS fields."""


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a schema in the form. `levels` of objects may be nested below it; -1 within a list.

    `budget` yields once for each schema that may still be read.
    """

    budget: Iterator[int]
    path: tuple[str, ...] = ()
    place: tuple[int, ...] = ()
    required: bool = True
    levels: int = 2
    branch: str = ""

    def below(self, name: str, number: int, *, required: bool) -> Position:
        path, place = (*self.path, name), (*self.place, number)
        return replace(self, path=path, place=place, required=required, levels=self.levels - 1)

    def branched(self, number: int) -> Position:
        """Return the position of fields for the same value, of which others are for other cases."""
        if self.branch.count("~") >= MAX_BRANCHES:
            raise _TooMany
        return replace(self, place=(*self.place, number), branch=f"{self.branch}~b{number}")


def form_from_schema(schema: Mapping[str, Any], label: str) -> Control:
    """Return the form for a value with a schema; one JSON field if fields cannot express it."""
    at = Position(iter(range(2 * MAX_FIELDS)))
    try:
        form = _control(schema, schema, at, label)
    except (NoTarget, BeyondFields, _TooMany):
        # Requests from before references were checked may refer to nothing.
        return _json(at, label)
    return form if sum(1 for leaf in form.leaves()) <= MAX_FIELDS else _json(at, label)


def _json(at: Position, label: str, schema: Mapping[str, Any] | None = None) -> Control:
    about = schema or {}
    return Control(
        widget=Widget.JSON,
        label=label,
        path=at.path,
        place=at.place,
        required=at.required,
        help=text_of(about.get("description")),
        default=about.get("default", ABSENT),
        branch=at.branch,
    )


def _control(schema: Any, root: Mapping[str, Any], at: Position, name: str) -> Control:
    if next(at.budget, None) is None:
        raise _TooMany
    schema = follow_references(schema, root)
    if not isinstance(schema, Mapping):
        return _json(at, name)
    schema, nullable = _without_null(schema, root)
    plain = replace(_json(at, label_of(schema, name), schema), nullable=nullable)
    offers = offers_of(schema)
    if offers is not None:
        fixed = "const" in schema and at.required
        return replace(plain, widget=Widget.FIXED if fixed else Widget.CHOICE, offers=offers)
    match _kind(schema, root):
        case "string":
            return text_field(plain, schema)
        case "number" | "integer":
            return replace(plain, widget=Widget.NUMBER, limits=number_limits(schema), unit=currency_of(schema))
        case "array" if at.levels >= 0 and not BEYOND_LISTS & schema.keys():
            return _list(plain, schema, root, at)
        case "object" if at.levels > 0:
            return _object(plain, schema, root, at)
        case None if at.levels >= 0 and (shapes := schema.get("oneOf") or schema.get("anyOf")):
            return _shapes_of_any(plain, shapes, root, at)
        case _:
            return plain


def _kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the type that a schema names, or that its keywords are about."""
    if "type" in schema or "properties" in schema:
        return schema.get("type", "object")
    shapes = [follow_references(each, root) for word in SHAPES for each in schema.get(word, ())]
    shaped = all(isinstance(shape, Mapping) and "properties" in shape for shape in shapes)
    return "object" if (shapes and shaped) or CASES & schema.keys() else None


def _object(plain: Control, schema: Mapping[str, Any], root: Mapping[str, Any], at: Position) -> Control:
    try:
        children = _members(parts_of(schema, root, at.budget), root, at, {})
    except BeyondFields:
        return plain
    return replace(plain, widget=Widget.GROUP, children=tuple(children)) if children else plain


def _members(parts: Parts, root: Mapping[str, Any], at: Position, around: Mapping[str, Control]) -> list[Control]:
    """Return the fields of an object that are not `around` these already, then those of its shapes and of its cases."""
    choices = [(told_apart_by(shapes), shapes) for shapes in parts.shapes]
    apart = {name for name, shapes in choices}
    known = {
        name: _control(below, root, at.below(name, number, required=name in parts.required), name)
        for number, (name, below) in enumerate(parts.properties.items())
        if name not in around and name not in apart and below is not False
    }
    fields, numbers = {**around, **known}, count(len(parts.properties))
    merged = [_shapes(name, shapes, parts, root, at.branched(next(numbers)), fields) for name, shapes in choices]
    for case in parts.cases:
        schema, inside = follow_references(case.schema, root), at.branched(next(numbers))
        if not isinstance(schema, Mapping):
            continue
        when, inner = condition_of(case, root, fields), parts_of(schema, root, at.budget)
        for name in inner.required & known.keys():
            known[name] = _needed(known[name], when)
        if children := _members(inner, root, inside, fields):
            group = _json(inside, text_of(schema.get("title")))
            merged.append(replace(group, widget=Widget.GROUP, merged=True, when=when, children=tuple(children)))
    return [*known.values(), *merged]


def _needed(control: Control, when: Condition) -> Control:
    """Return a field with words about the case in which it must be filled in."""
    if control.required or not when.words:
        return control
    words = _("needed %(case)s") % {"case": when.words}
    return replace(control, limits=", ".join(filter(None, (control.limits, words))))


def _shapes(
    name: str,
    shapes: Sequence[Mapping[str, Any]],
    parts: Parts,
    root: Mapping[str, Any],
    at: Position,
    around: Mapping[str, Control],
) -> Control:
    """Return the choice of the shapes of an object, which the property `name` tells apart, if there is one."""
    known = parts.properties.get(name) or shapes[0].get("properties", {}).get(name)
    label = label_of(known if isinstance(known, Mapping) else {}, name) if name else _("Kind")
    groups = []
    for number, shape in enumerate(shapes):
        inner, inside = parts_of(shape, root, at.budget), at.branched(number)
        inner.required.update(parts.required)
        title = text_of(shape.get("title"))
        if fixed := fixed_value(inner.properties.get(name)):
            inner.properties[name] = {"title": label, "const": fixed[0]}
            inner.required.add(name)
            title = title or label_for(fixed[0])
        children = _members(inner, root, inside, around)
        group = _json(inside, visible(title) or _("Option %(number)s") % {"number": number + 1})
        groups.append(replace(group, widget=Widget.GROUP, merged=True, children=tuple(children)))
    return _choice_of(replace(_json(at, label), required=True, merged=True), groups)


def _shapes_of_any(plain: Control, shapes: Sequence[Any], root: Mapping[str, Any], at: Position) -> Control:
    """Return the choice of the shapes of a value of any type; plain JSON if no shape has fields."""
    inside, controls = at.branched(0), []
    for number, shape in enumerate(shapes):
        schema = follow_references(shape, root)
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        name = str(KINDS.get(kind if isinstance(kind, str) else "", "")) or _("Option %(number)s") % {
            "number": number + 1
        }
        controls.append(_control(shape, root, replace(inside.branched(number), required=True), name))
    if all(control.widget == Widget.JSON for control in controls):
        return plain
    return _choice_of(replace(plain, branch=inside.branch, place=inside.place, default=ABSENT), controls)


def _choice_of(control: Control, shapes: Sequence[Control]) -> Control:
    offers = tuple(Offer(shape.label, number) for number, shape in enumerate(shapes))
    return replace(control, widget=Widget.SHAPES, offers=offers, children=tuple(shapes))


def _without_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the schema without null, and whether it allowed null."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) == 2:
        return {**schema, "type": next(kind for kind in kinds if kind != "null")}, True
    branches = schema.get("anyOf")
    if branches and len(branches) == 2 and {"type": "null"} in branches:
        (branch,) = [each for each in branches if each != {"type": "null"}] or [True]
        branch, beside = (
            follow_references(branch, root),
            {name: value for name, value in schema.items() if name != "anyOf"},
        )
        if isinstance(branch, Mapping):
            return {**branch, **beside}, True
    if branches and len(branches) > 2 and {"type": "null"} in branches:
        return {**schema, "anyOf": [each for each in branches if each != {"type": "null"}]}, True
    # Older generators write a reference with other keywords beside it like this.
    if len(schema.get("allOf", ())) == 1 and "properties" not in schema:
        branch, beside = follow_references(schema["allOf"][0], root), {k: v for k, v in schema.items() if k != "allOf"}
        if isinstance(branch, Mapping):
            return {**branch, **beside}, False
    return schema, False


def _list(plain: Control, schema: Mapping[str, Any], root: Mapping[str, Any], at: Position) -> Control:
    below = schema.get("items")
    if not isinstance(below, Mapping):
        return plain
    item = _control(below, root, replace(at, required=True, levels=-1), plain.label)
    limits = count_limits(schema)
    if item.widget == Widget.CHOICE and not item.nullable:
        return replace(plain, widget=Widget.SEVERAL, offers=item.offers, limits=limits)
    if item.widget in {Widget.LINE, Widget.LINES, Widget.NUMBER} and not item.nullable:
        each = replace(item, widget=Widget.LINE) if item.widget == Widget.LINES else item
        limits = ", ".join(filter(None, (limits, item.limits)))
        return replace(plain, widget=Widget.LIST, item=each, limits=limits, most=schema.get("maxItems"))
    row = _row(plain, follow_references(below, root), root, at)
    return (
        plain
        if row is None
        else replace(plain, widget=Widget.ROWS, item=row, limits=limits, most=schema.get("maxItems"))
    )


def _row(plain: Control, schema: Any, root: Mapping[str, Any], at: Position) -> Control | None:
    """Return the fields of each object in a list; None if they need more than one field each."""
    if not isinstance(schema, Mapping) or not schema.get("properties") or BEYOND_ROWS & schema.keys():
        return None
    wanted, inside = schema.get("required", []), replace(at, levels=0)
    columns = tuple(
        _control(below, root, inside.below(key, number, required=key in wanted), key)
        for number, (key, below) in enumerate(schema["properties"].items())
    )
    return row_of(plain, columns)


def row_of(plain: Control, columns: tuple[Control, ...]) -> Control | None:
    """Return the group of the columns of a list; None if one of them cannot be a cell."""
    fit = all(column.widget in CELLS and not column.nullable for column in columns)
    entered = any(column.widget != Widget.FIXED for column in columns)
    return replace(plain, widget=Widget.GROUP, children=columns) if fit and entered else None
