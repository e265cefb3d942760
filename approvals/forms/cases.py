"""Parts of an object's schema besides its properties: conditional cases, and a choice of shapes. Bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from approvals.db.canonical_json import canonical
from approvals.forms.fields import FieldCondition, FormControl, Widget
from approvals.forms.limits import label_for
from approvals.forms.texts import index_of, text_for
from approvals.json_types import JsonDict, JsonMapping
from approvals.schema.keywords import follow_references

#: Keywords of objects that fields cannot express.
BEYOND_FIELDS = frozenset(
    {"not", "patternProperties", "propertyNames", "minProperties"}
)
#: Keywords with cases and shapes.
CASES = frozenset({"if", "allOf", "dependentRequired", "dependentSchemas"})
SHAPES = ("oneOf", "anyOf")
#: Maximum nesting of schemas of one object.
MAX_NESTED = 5
#: Keywords that do not restrict a value, or are implied here.
_NEUTRAL = frozenset(
    {"title", "description", "$comment", "examples", "default", "type"}
)
_BOUNDS = {
    "minimum": "least",
    "maximum": "most",
    "exclusiveMinimum": "more",
    "exclusiveMaximum": "less",
}


class BeyondFields(Exception):
    """Fields cannot express this schema."""


@dataclass(frozen=True, slots=True)
class ConditionalFields:
    """Members that apply while the object matches `condition`; with `negated`, while it does not."""

    condition: Any
    negated: bool
    schema: Any


@dataclass(frozen=True, slots=True)
class Parts:
    """The members of an object's schema, in whatever keywords they are."""

    properties: JsonDict = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    cases: list[ConditionalFields] = field(default_factory=list)
    shapes: list[list[JsonMapping]] = field(default_factory=list)


def parts_of(schema: JsonMapping, root: JsonMapping, budget: Iterator[int]) -> Parts:
    """Return the parts of an object's schema. Raise BeyondFields."""
    parts = Parts()
    _collect(schema, root, budget, parts, 0)
    return parts


def _collect(
    schema: JsonMapping,
    root: JsonMapping,
    budget: Iterator[int],
    parts: Parts,
    depth: int,
) -> None:
    if (
        next(budget, None) is None
        or depth > MAX_NESTED
        or BEYOND_FIELDS & schema.keys()
    ):
        raise BeyondFields
    for name, below in schema.get("properties", {}).items():
        parts.properties.setdefault(name, below)
    parts.required.update(schema.get("required", ()))
    if "if" in schema:
        parts.cases.extend(
            ConditionalFields(schema["if"], negated, schema[word]) for word, negated in (("then", False), ("else", True))
            if word in schema
        )  # fmt: skip
    for name, names in schema.get("dependentRequired", {}).items():
        parts.cases.append(
            ConditionalFields({"required": [name]}, False, {"required": names})
        )
    for name, below in schema.get("dependentSchemas", {}).items():
        parts.cases.append(ConditionalFields({"required": [name]}, False, below))
    for below in schema.get("allOf", ()):
        below = follow_references(below, root)
        if not isinstance(below, Mapping):
            raise BeyondFields
        _collect(below, root, budget, parts, depth + 1)
    for keyword in SHAPES:
        if keyword in schema:
            shapes = [follow_references(each, root) for each in schema[keyword]]
            if not all(isinstance(shape, Mapping) for shape in shapes):
                raise BeyondFields
            # If a case only requires other members, the fields are the same.
            if any(
                "properties" in shape or "allOf" in shape or "if" in shape
                for shape in shapes
            ):
                parts.shapes.append(shapes)


def told_apart_by(shapes: Sequence[JsonMapping]) -> str:
    """Return the property with a different fixed value in each shape; empty if there is none."""
    for name in shapes[0].get("properties", {}):
        values = [
            fixed_value(shape.get("properties", {}).get(name)) for shape in shapes
        ]
        if all(values) and len({canonical(value) for value in values}) == len(values):
            return str(name)
    return ""


def fixed_value(schema: Any) -> list[Any]:
    """Return the only value that a schema allows, in a list; empty if there are others."""
    if not isinstance(schema, Mapping):
        return []
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if len(schema.get("enum", ())) == 1 else []


def condition_of(
    case: ConditionalFields, root: JsonMapping, known: Mapping[str, FormControl]
) -> FieldCondition:
    """Return the condition of a case. `known` are the fields of the object by name."""
    test = _test(follow_references(case.condition, root), root, known)
    if test is not None and case.negated:
        test = ["not", test]
    return FieldCondition(
        root, case.condition, case.negated, _words(case, root, known), test
    )


def _test(schema: Any, root: JsonMapping, known: Mapping[str, FormControl]) -> Any:
    """Return a schema of an object as a test for scripts; None if they cannot evaluate it."""
    if isinstance(schema, bool):
        return ["all" if schema else "any", []]
    tests: list[Any] = []
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                tests += [
                    _if_there(follow_references(below, root), root, known.get(name))
                    for name, below in value.items()
                ]
            case "required":
                tests += [_filled(known.get(name)) for name in value]
            case "not":
                tests.append(
                    _negated(_test(follow_references(value, root), root, known))
                )
            case "allOf" | "anyOf":
                below = [
                    _test(follow_references(each, root), root, known) for each in value
                ]
                tests.append(None if None in below else [keyword[:3], below])
            case _ if keyword not in _NEUTRAL:
                return None
    return None if None in tests else ["all", tests]


def _filled(control: FormControl | None) -> Any:
    if control is None or control.widget in {Widget.SHAPES, Widget.GROUP, Widget.ROWS}:
        return None
    return (
        ["all", []] if control.widget == Widget.FIXED else ["filled", control.name("")]
    )


def _if_there(schema: Any, root: JsonMapping, control: FormControl | None) -> Any:
    """Return the test of a member, which an absent one passes."""
    if control is None:
        return None
    if control.widget == Widget.GROUP:
        children = {
            child.path[-1]: child for child in control.children if not child.merged
        }
        return _test(schema, root, children)
    filled = _filled(control)
    test = _value_test(schema, root, control)
    return None if filled is None or test is None else ["any", [["not", filled], test]]


def _value_test(schema: Any, root: JsonMapping, control: FormControl) -> Any:
    if isinstance(schema, bool):
        return ["all" if schema else "any", []]
    name = control.name("")
    tests = []
    for keyword, value in schema.items():
        match keyword:
            case "const" | "enum" if control.widget in {
                Widget.CHOICE,
                Widget.NUMBER,
                Widget.LINE,
                Widget.LINES,
            }:
                texts = _texts([value] if keyword == "const" else value, control)
                tests.append(
                    ["is" if control.widget == Widget.NUMBER else "in", name, texts]
                )
            case "const" if control.widget == Widget.FIXED:
                tests.append(
                    ["all" if index_of(control, value) is not None else "any", []]
                )
            case "not":
                tests.append(
                    _negated(_value_test(follow_references(value, root), root, control))
                )
            case _ if keyword in _BOUNDS and control.widget == Widget.NUMBER:
                tests.append([_BOUNDS[keyword], name, value])
            case _ if keyword not in _NEUTRAL:
                return None
    return None if None in tests else ["all", tests]


def _negated(test: Any) -> Any:
    return None if test is None else ["not", test]


def _texts(values: Sequence[Any], control: FormControl) -> list[str]:
    """Return values as sent by their field; a number as JSON, because a script compares it as a number."""
    if control.widget == Widget.CHOICE:
        return [
            str(place)
            for value in values
            if (place := index_of(control, value)) is not None
        ]
    if control.widget == Widget.NUMBER:
        return [canonical(value).decode() for value in values]
    return [text_for(control, value) for value in values]


def _words(
    case: ConditionalFields, root: JsonMapping, known: Mapping[str, FormControl]
) -> str:
    """Return the condition of a case in words, for use within a sentence; empty if it involves more than one member."""
    condition = follow_references(case.condition, root)
    names = condition.get("properties", {}) if isinstance(condition, Mapping) else {}
    required = (
        set(condition.get("required", ())) if isinstance(condition, Mapping) else set()
    )
    if not isinstance(condition, Mapping) or not condition.keys() - _NEUTRAL <= {
        "properties",
        "required",
    }:
        return ""
    if len({*names, *required}) != 1:
        return ""
    (name,) = {*names, *required}
    control = known.get(name)
    if control is None:
        return ""
    if not names:
        words = (
            _("if %(name)s is empty") if case.negated else _("if %(name)s is filled in")
        )
        return words % {"name": control.label}
    below = follow_references(names[name], root)
    if not isinstance(below, Mapping) or below.keys() - _NEUTRAL not in (
        {"const"},
        {"enum"},
    ):
        return ""
    values = [below["const"]] if "const" in below else below["enum"][:4]
    words = (
        _("if %(name)s is not %(value)s")
        if case.negated
        else _("if %(name)s is %(value)s")
    )
    return words % {
        "name": control.label,
        "value": _(" or ").join(_label(value, control) for value in values),
    }


def _label(value: Any, control: FormControl) -> str:
    place = index_of(control, value)
    return f"“{label_for(value) if place is None else control.offers[place].label}”"
