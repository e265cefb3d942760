"""Forms from JSON Schemas: text, numbers, dates, choices, lists of these, rows of these, and one level of objects; the rest
is JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.asking.answers import ABSENT
from approvals.db.canonical_json import canonical
from approvals.forms.fields import SECRET, Control, Offer, Widget
from approvals.schema.references import NoTarget, follow_references
from approvals.text.text import visible, visible_name

#: A form with more fields becomes one JSON field.
MAX_FIELDS = 200
#: A text that may be longer than this many characters gets a field of several lines.
LONG_TEXT = 200
#: Names of texts that people write in several lines, where the schema says nothing about their length.
LONG_NAMES = re.compile(
    r"(?i)text|body|message|note|comment|descri|content|reason|summary|prompt|letter|address|answer"
)
INPUT_TYPES = {"password": SECRET, "date": "date", "date-time": "datetime-local", "email": "email", "uri": "url"}
#: Keywords of objects and of lists that fields cannot express.
BEYOND_FIELDS = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "propertyNames", "minProperties"}
)
BEYOND_LISTS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "prefixItems", "contains"})


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

    def below(self, name: str, number: int, *, required: bool) -> Position:
        return Position(self.budget, (*self.path, name), (*self.place, number), required, self.levels - 1)


def form_from_schema(schema: Mapping[str, Any], label: str) -> Control:
    """Return the form for a value with a schema; one JSON field if fields cannot express it."""
    at = Position(iter(range(2 * MAX_FIELDS)))
    try:
        form = _control(schema, schema, at, label)
    except (NoTarget, _TooMany):
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
        help=_text(about.get("description")),
        default=about.get("default", ABSENT),
    )


def _control(schema: Any, root: Mapping[str, Any], at: Position, name: str) -> Control:
    if next(at.budget, None) is None:
        raise _TooMany
    schema = follow_references(schema, root)
    if not isinstance(schema, Mapping):
        return _json(at, name)
    schema, nullable = _without_null(schema, root)
    plain = replace(_json(at, _label(schema, name), schema), nullable=nullable)
    offers = _offers(schema)
    if offers is not None:
        fixed = "const" in schema and at.required
        return replace(plain, widget=Widget.FIXED if fixed else Widget.CHOICE, offers=offers)
    match schema.get("type", "object" if "properties" in schema else None):
        case "string":
            return _string(plain, schema)
        case "number" | "integer":
            return replace(plain, widget=Widget.NUMBER, limits=_number_limits(schema))
        case "array" if at.levels >= 0 and not BEYOND_LISTS & schema.keys():
            return _list(plain, schema, root, at)
        case "object" if at.levels > 0 and schema.get("properties") and not BEYOND_FIELDS & schema.keys():
            wanted = schema.get("required", [])
            children = (
                _control(below, root, at.below(key, number, required=key in wanted), key)
                for number, (key, below) in enumerate(schema["properties"].items())
            )
            return replace(plain, widget=Widget.GROUP, children=tuple(children))
        case _:
            return plain


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
    # Older generators write a reference with other keywords beside it like this.
    if len(schema.get("allOf", ())) == 1 and "properties" not in schema:
        branch, beside = follow_references(schema["allOf"][0], root), {k: v for k, v in schema.items() if k != "allOf"}
        if isinstance(branch, Mapping):
            return {**branch, **beside}, False
    return schema, False


def _offers(schema: Mapping[str, Any]) -> tuple[Offer, ...] | None:
    """Return the values that a schema lists; None if it lists none."""
    if "const" in schema:
        return (Offer(label_for(schema["const"]), schema["const"]),)
    if "enum" in schema:
        return tuple(Offer(label_for(value), value) for value in schema["enum"])
    if schema.get("type") == "boolean":
        return Offer(_("Yes"), True), Offer(_("No"), False)
    titled = schema.get("oneOf") or schema.get("anyOf") or ()
    if titled and all(isinstance(item, Mapping) and "const" in item for item in titled):
        return tuple(Offer(_text(item.get("title")) or label_for(item["const"]), item["const"]) for item in titled)
    return None


def _string(plain: Control, schema: Mapping[str, Any]) -> Control:
    secret = schema.get("writeOnly") is True
    input_type = SECRET if secret else INPUT_TYPES.get(schema.get("format", ""), "text")
    short = secret or "pattern" in schema or "format" in schema or _is_short(plain, schema)
    return replace(
        plain,
        widget=Widget.LINE if short else Widget.LINES,
        input_type=input_type,
        limits=", ".join(filter(None, (_length_limits(schema), _example(schema)))),
    )


def _is_short(plain: Control, schema: Mapping[str, Any]) -> bool:
    """Whether a text fits in one line, as far as its schema says so; else by its name."""
    if "maxLength" in schema:
        return bool(schema["maxLength"] <= LONG_TEXT)
    if "\n" in _text(schema.get("default")) or len(_text(schema.get("default"))) > LONG_TEXT:
        return False
    return not (LONG_NAMES.search(plain.path[-1] if plain.path else plain.label) or LONG_NAMES.search(plain.label))


def _example(schema: Mapping[str, Any]) -> str:
    """Return the first example of a text with a pattern, which people would not understand."""
    examples = schema.get("examples")
    if "pattern" not in schema or not isinstance(examples, list) or not examples:
        return ""
    return _("such as %(example)s") % {"example": visible(_text(examples[0])[:80])} if _text(examples[0]) else ""


def _list(plain: Control, schema: Mapping[str, Any], root: Mapping[str, Any], at: Position) -> Control:
    below = schema.get("items")
    if not isinstance(below, Mapping):
        return plain
    item = _control(below, root, replace(at, required=True, levels=-1), plain.label)
    limits = _count_limits(schema)
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
    if not isinstance(schema, Mapping) or not schema.get("properties") or BEYOND_FIELDS & schema.keys():
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


def _label(schema: Mapping[str, Any], name: str) -> str:
    title = _text(schema.get("title")).strip()
    # pydantic makes "Orderid" of orderId.
    made = title == name.replace("_", " ").title() and re.search(r"[a-z][A-Z]", name)
    return visible_name(name) if made or not title else visible(title)


def label_for(value: Any) -> str:
    """Return a value as a label: text as it is, anything else as JSON."""
    return value if isinstance(value, str) and value else canonical(value).decode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _length_limits(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if least > 1 and most is not None:
        return _("%(least)s to %(most)s characters") % {"least": least, "most": most}
    if most is not None:
        return ngettext("at most %(most)s character", "at most %(most)s characters", int(most)) % {"most": most}
    if least > 1:
        return ngettext("at least %(least)s character", "at least %(least)s characters", int(least)) % {"least": least}
    return ""


def _count_limits(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if least and most is not None:
        return _("%(least)s to %(most)s values") % {"least": least, "most": most}
    if most is not None:
        return ngettext("at most %(most)s value", "at most %(most)s values", int(most)) % {"most": most}
    if least:
        return ngettext("at least %(least)s value", "at least %(least)s values", int(least)) % {"least": least}
    return ""


def _number_limits(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    limits = []
    if least is not None and most is not None:
        limits.append(_("from %(least)s to %(most)s") % {"least": label_for(least), "most": label_for(most)})
    else:
        limits += [_("at least %(value)s") % {"value": label_for(least)}] if least is not None else []
        limits += [_("at most %(value)s") % {"value": label_for(most)}] if most is not None else []
    if "exclusiveMinimum" in schema:
        limits.insert(0, _("more than %(value)s") % {"value": label_for(schema["exclusiveMinimum"])})
    if "exclusiveMaximum" in schema:
        limits.append(_("less than %(value)s") % {"value": label_for(schema["exclusiveMaximum"])})
    if "multipleOf" in schema:
        limits.append(_("in steps of %(value)s") % {"value": label_for(schema["multipleOf"])})
    if schema.get("type") == "integer":
        limits.append(_("a whole number"))
    return ", ".join(limits)
