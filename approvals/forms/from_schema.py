"""Build forms from JSON Schemas: text, numbers, dates, choices, lists of these, rows of these, one level of objects, and cases
and shapes of objects; everything else is JSON.
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
from approvals.forms.fields import FieldCondition, FormControl, Offer, Widget
from approvals.forms.limits import (
    count_limits,
    label_for,
    label_of,
    number_limits,
    text_of,
)
from approvals.forms.simple_fields import offers_of, text_field
from approvals.json_types import JsonMapping
from approvals.schema.keywords import NoTarget, currency_of, follow_references
from approvals.text.text import visible

#: A form with more fields becomes one JSON field.
MAX_FIELDS = 200
#: Keywords of lists that fields cannot express.
BEYOND_LISTS = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "prefixItems", "contains"}
)


#: Keywords of the objects of a list that its rows cannot express.
BEYOND_ROWS = BEYOND_FIELDS | CASES | {*SHAPES}
#: Maximum nesting of cases and shapes.
MAX_BRANCHES = 8
#: Labels of shapes without a title.
KINDS = {
    "string": gettext_lazy("Text"),
    "number": gettext_lazy("Number"),
    "integer": gettext_lazy("Whole number"),
    "boolean": gettext_lazy("Yes or no"),
    "array": gettext_lazy("List"),
    "object": gettext_lazy("Object"),
}
#: Possible cells of a list of objects.
CELLS = frozenset(
    {Widget.LINE, Widget.LINES, Widget.NUMBER, Widget.CHOICE, Widget.FIXED}
)


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
        path = (*self.path, name)
        place = (*self.place, number)
        return replace(
            self, path=path, place=place, required=required, levels=self.levels - 1
        )

    def branched(self, number: int) -> Position:
        """Return the position of alternative fields for the same value, one per case."""
        if self.branch.count("~") >= MAX_BRANCHES:
            raise _TooMany
        return replace(
            self, place=(*self.place, number), branch=f"{self.branch}~b{number}"
        )


def form_from_schema(schema: JsonMapping, label: str) -> FormControl:
    """Return the form for a value with a schema; one JSON field if fields cannot express it."""
    at = Position(iter(range(2 * MAX_FIELDS)))
    try:
        form = _control(schema, schema, at, label)
    except (NoTarget, BeyondFields, _TooMany):
        # In requests older than the check of references, they may have no target.
        return _json(at, label)
    return form if sum(1 for leaf in form.leaves()) <= MAX_FIELDS else _json(at, label)


def _json(at: Position, label: str, schema: JsonMapping | None = None) -> FormControl:
    about = schema or {}
    return FormControl(
        widget=Widget.JSON,
        label=label,
        path=at.path,
        place=at.place,
        required=at.required,
        help=text_of(about.get("description")),
        default=about.get("default", ABSENT),
        branch=at.branch,
    )


def _control(schema: Any, root: JsonMapping, at: Position, name: str) -> FormControl:
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
        return replace(
            plain, widget=Widget.FIXED if fixed else Widget.CHOICE, offers=offers
        )
    match _kind(schema, root):
        case "string":
            return text_field(plain, schema)
        case "number" | "integer":
            return replace(
                plain,
                widget=Widget.NUMBER,
                limits=number_limits(schema),
                unit=currency_of(schema),
            )
        case "array" if at.levels >= 0 and not BEYOND_LISTS & schema.keys():
            return _list(plain, schema, root, at)
        case "object" if at.levels > 0:
            return _object(plain, schema, root, at)
        case None if at.levels >= 0 and (
            shapes := schema.get("oneOf") or schema.get("anyOf")
        ):
            return _shapes_of_any(plain, shapes, root, at)
        case _:
            return plain


def _kind(schema: JsonMapping, root: JsonMapping) -> Any:
    """Return the type that a schema names, or that its keywords imply."""
    if "type" in schema or "properties" in schema:
        return schema.get("type", "object")
    shapes = [
        follow_references(each, root)
        for word in SHAPES
        for each in schema.get(word, ())
    ]
    shaped = all(
        isinstance(shape, Mapping) and "properties" in shape for shape in shapes
    )
    return "object" if (shapes and shaped) or CASES & schema.keys() else None


def _object(
    plain: FormControl, schema: JsonMapping, root: JsonMapping, at: Position
) -> FormControl:
    try:
        children = _members(parts_of(schema, root, at.budget), root, at, {})
    except BeyondFields:
        return plain
    return (
        replace(plain, widget=Widget.GROUP, children=tuple(children))
        if children
        else plain
    )


def _members(
    parts: Parts,
    root: JsonMapping,
    at: Position,
    around: Mapping[str, FormControl],
) -> list[FormControl]:
    """Return an object's fields that are not `around` already, followed by those of its shapes and cases."""
    choices = [(told_apart_by(shapes), shapes) for shapes in parts.shapes]
    apart = {name for name, shapes in choices}
    known = {
        name: _control(
            below, root, at.below(name, number, required=name in parts.required), name
        )
        for number, (name, below) in enumerate(parts.properties.items())
        if name not in around and name not in apart and below is not False
    }
    fields = {**around, **known}
    numbers = count(len(parts.properties))
    merged = [
        _shapes(name, shapes, parts, root, at.branched(next(numbers)), fields)
        for name, shapes in choices
    ]
    for case in parts.cases:
        schema = follow_references(case.schema, root)
        inside = at.branched(next(numbers))
        if not isinstance(schema, Mapping):
            continue
        when = condition_of(case, root, fields)
        inner = parts_of(schema, root, at.budget)
        for name in inner.required & known.keys():
            known[name] = _needed(known[name], when)
        if children := _members(inner, root, inside, fields):
            group = _json(inside, text_of(schema.get("title")))
            merged.append(
                replace(
                    group,
                    widget=Widget.GROUP,
                    merged=True,
                    when=when,
                    children=tuple(children),
                )
            )
    return [*known.values(), *merged]


def _needed(control: FormControl, when: FieldCondition) -> FormControl:
    """Return a field with a note on the case in which it must be filled in."""
    if control.required or not when.words:
        return control
    words = _("needed %(case)s") % {"case": when.words}
    return replace(control, limits=", ".join(filter(None, (control.limits, words))))


def _shapes(
    name: str,
    shapes: Sequence[JsonMapping],
    parts: Parts,
    root: JsonMapping,
    at: Position,
    around: Mapping[str, FormControl],
) -> FormControl:
    """Return the choice of an object's shapes, which the property `name`, if any, distinguishes."""
    known = parts.properties.get(name) or shapes[0].get("properties", {}).get(name)
    label = _("Kind")
    if name:
        label = label_of(known if isinstance(known, Mapping) else {}, name)
    groups = []
    for number, shape in enumerate(shapes):
        inner = parts_of(shape, root, at.budget)
        inside = at.branched(number)
        inner.required.update(parts.required)
        title = text_of(shape.get("title"))
        if fixed := fixed_value(inner.properties.get(name)):
            inner.properties[name] = {"title": label, "const": fixed[0]}
            inner.required.add(name)
            title = title or label_for(fixed[0])
        children = _members(inner, root, inside, around)
        group = _json(
            inside, visible(title) or _("Option %(number)s") % {"number": number + 1}
        )
        groups.append(
            replace(group, widget=Widget.GROUP, merged=True, children=tuple(children))
        )
    return _choice_of(replace(_json(at, label), required=True, merged=True), groups)


def _shapes_of_any(
    plain: FormControl, shapes: Sequence[Any], root: JsonMapping, at: Position
) -> FormControl:
    """Return the choice of the shapes of a value of any type; plain JSON if no shape has fields."""
    inside = at.branched(0)
    controls = []
    for number, shape in enumerate(shapes):
        schema = follow_references(shape, root)
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        name = str(KINDS.get(kind if isinstance(kind, str) else "", "")) or _(
            "Option %(number)s"
        ) % {"number": number + 1}
        controls.append(
            _control(shape, root, replace(inside.branched(number), required=True), name)
        )
    if all(control.widget == Widget.JSON for control in controls):
        return plain
    return _choice_of(
        replace(plain, branch=inside.branch, place=inside.place, default=ABSENT),
        controls,
    )


def _choice_of(control: FormControl, shapes: Sequence[FormControl]) -> FormControl:
    offers = tuple(Offer(shape.label, number) for number, shape in enumerate(shapes))
    return replace(control, widget=Widget.SHAPES, offers=offers, children=tuple(shapes))


def _without_null(schema: JsonMapping, root: JsonMapping) -> tuple[JsonMapping, bool]:
    """Return the schema without null, and whether it allowed null."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) == 2:
        return {**schema, "type": next(kind for kind in kinds if kind != "null")}, True
    branches = schema.get("anyOf")
    if branches and len(branches) == 2 and {"type": "null"} in branches:
        (branch,) = [each for each in branches if each != {"type": "null"}] or [True]
        branch = follow_references(branch, root)
        beside = {name: value for name, value in schema.items() if name != "anyOf"}
        if isinstance(branch, Mapping):
            return {**branch, **beside}, True
    if branches and len(branches) > 2 and {"type": "null"} in branches:
        return {
            **schema,
            "anyOf": [each for each in branches if each != {"type": "null"}],
        }, True
    # Older generators write a reference with other keywords beside it in this way.
    if len(schema.get("allOf", ())) == 1 and "properties" not in schema:
        branch = follow_references(schema["allOf"][0], root)
        beside = {k: v for k, v in schema.items() if k != "allOf"}
        if isinstance(branch, Mapping):
            return {**branch, **beside}, False
    return schema, False


def _list(
    plain: FormControl, schema: JsonMapping, root: JsonMapping, at: Position
) -> FormControl:
    below = schema.get("items")
    if not isinstance(below, Mapping):
        return plain
    item = _control(below, root, replace(at, required=True, levels=-1), plain.label)
    limits = count_limits(schema)
    if item.widget == Widget.CHOICE and not item.nullable:
        return replace(plain, widget=Widget.SEVERAL, offers=item.offers, limits=limits)
    if item.widget in {Widget.LINE, Widget.LINES, Widget.NUMBER} and not item.nullable:
        each = (
            replace(item, widget=Widget.LINE) if item.widget == Widget.LINES else item
        )
        limits = ", ".join(filter(None, (limits, item.limits)))
        return replace(
            plain,
            widget=Widget.LIST,
            item=each,
            limits=limits,
            most=schema.get("maxItems"),
        )
    row = _row(plain, follow_references(below, root), root, at)
    return (
        plain
        if row is None
        else replace(
            plain,
            widget=Widget.ROWS,
            item=row,
            limits=limits,
            most=schema.get("maxItems"),
        )
    )


def _row(
    plain: FormControl, schema: Any, root: JsonMapping, at: Position
) -> FormControl | None:
    """Return the fields of each object in a list; None if one needs more than a single field."""
    if (
        not isinstance(schema, Mapping)
        or not schema.get("properties")
        or BEYOND_ROWS & schema.keys()
    ):
        return None
    wanted = schema.get("required", [])
    inside = replace(at, levels=0)
    columns = tuple(
        _control(below, root, inside.below(key, number, required=key in wanted), key)
        for number, (key, below) in enumerate(schema["properties"].items())
    )
    return row_of(plain, columns)


def row_of(plain: FormControl, columns: tuple[FormControl, ...]) -> FormControl | None:
    """Return the group of the columns of a list; None if one of them cannot be a cell."""
    fit = all(column.widget in CELLS and not column.nullable for column in columns)
    entered = any(column.widget != Widget.FIXED for column in columns)
    return (
        replace(plain, widget=Widget.GROUP, children=columns)
        if fit and entered
        else None
    )
