"""The stored form of a match: a JSON document, validated strictly, with every fault reported.

    {"tools": ["refund", "mcp__crm__*"], "requesters": [7], "input": [{"pointer": "/amount", "at_most": 100}]}

A member of `input` has a `pointer` and one test: `equals`, `one_of`, `at_least` and/or `at_most`, `more_than`, `less_than`,
`starts_with` or `like`. With a `type` (`value_types`) the test is optional. Or it has `members`: the allowed names of an
object's members.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from approvals.db.canonical_json import NotCanonical, canonical
from approvals.db.json_pointer import is_pointer
from approvals.json_types import JsonMapping
from approvals.policy.globs import Glob
from approvals.policy.input_conditions import (
    Between,
    InputCondition,
    Like,
    Members,
    OneOf,
    StartsWith,
    Test,
    Typed,
)
from approvals.policy.match import FACTS, Match
from approvals.policy.value_types import ValueType, is_of, is_pattern, item_type
from approvals.states import Kind, Priority
from approvals.text.text import INVISIBLE
from approvals.text.translatable import Sentence, TranslatableError, gettext_noop

#: Bounds: names per list and their length, number of conditions, length of a pointer and of a text, number of choices, and bytes
#: of a document.
MAX_NAMES = 100
MAX_NAME = 200
MAX_CONDITIONS = 20
MAX_POINTER = 200
MAX_TEXT = 1_000
MAX_CHOICES = 100
MAX_BYTES = 20_000
_KNOWN = {"kinds": frozenset(Kind.values), "priorities": frozenset(Priority.values)}
#: The tests of a condition; both ends of a range count as one test.
_TESTS = (
    "equals",
    "one_of",
    "at_least",
    "at_most",
    "more_than",
    "less_than",
    "starts_with",
    "like",
)
_RANGES = (
    {"at_least"},
    {"at_most"},
    {"at_least", "at_most"},
    {"more_than"},
    {"less_than"},
)

Faults = dict[str, Sentence]


class InvalidMatch(TranslatableError, ValueError):
    """The document is not a valid match. `faults` has a sentence per wrong member, by its path, such as `input.0.pointer`."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        super().__init__(gettext_noop("The match is invalid."))


def match_from(document: Any) -> Match:
    """Return the match in an untrusted document. Raise InvalidMatch."""
    try:
        canonical(document, max_bytes=MAX_BYTES)
    except NotCanonical as error:
        raise InvalidMatch({"": Sentence(error.text, error.values)}) from error
    if not isinstance(document, dict):
        raise InvalidMatch({"": Sentence(gettext_noop("must be a JSON object"))})
    faults: Faults = {}
    for name in document.keys() - {*FACTS, "input"}:
        faults[name[:MAX_NAME]] = Sentence(gettext_noop("is not known"))
    for name in FACTS:
        if name in document:
            faults |= _list_faults(name, document[name])
    conditions = _conditions(document["input"], faults) if "input" in document else ()
    if faults:
        raise InvalidMatch(faults)
    lists = {name: tuple(document[name]) for name in FACTS if name in document}
    return Match(**lists, conditions=conditions)


def _list_faults(name: str, items: Any) -> Faults:
    if problem := _length_problem(items, MAX_NAMES):
        return {name: problem}
    fault_of: Callable[[Any], Sentence | None] = (
        _id_fault if name == "requesters" else _name_fault
    )
    faults = {
        f"{name}.{index}": fault
        for index, item in enumerate(items)
        if (fault := fault_of(item))
    }
    if not faults and name in _KNOWN:
        allowed = Sentence(
            gettext_noop("must be one of %(names)s"),
            {"names": ", ".join(sorted(_KNOWN[name]))},
        )
        faults = {
            f"{name}.{index}": allowed
            for index, item in enumerate(items)
            if item not in _KNOWN[name]
        }
    return faults


def _length_problem(items: Any, most: int) -> Sentence | None:
    if not isinstance(items, list):
        return Sentence(gettext_noop("must be a list"))
    if not items:
        return Sentence(
            gettext_noop(
                "is an empty list, which matches nothing; leave it out to match anything"
            )
        )
    if len(items) > most:
        return Sentence(gettext_noop("has more than %(limit)s items"), {"limit": most})
    return None


def _id_fault(item: Any) -> Sentence | None:
    whole = isinstance(item, int) and not isinstance(item, bool) and item > 0
    return None if whole else Sentence(gettext_noop("must be the number of a user"))


def _name_fault(item: Any) -> Sentence | None:
    if not isinstance(item, str) or not item or len(item) > MAX_NAME:
        return Sentence(
            gettext_noop("must be text of 1 to %(limit)s characters"),
            {"limit": MAX_NAME},
        )
    if INVISIBLE.search(item) or item.strip() != item:
        return Sentence(
            gettext_noop(
                "contains an invisible character, or begins or ends with a space"
            )
        )
    return None


def _conditions(items: Any, faults: Faults) -> tuple[InputCondition, ...]:
    if problem := _length_problem(items, MAX_CONDITIONS):
        faults["input"] = problem
        return ()
    read = []
    for index, item in enumerate(items):
        place = f"input.{index}"
        if not isinstance(item, dict):
            faults[place] = Sentence(gettext_noop("must be a JSON object"))
            continue
        for name in item.keys() - {"pointer", "type", "members", *_TESTS}:
            faults[f"{place}.{name[:MAX_NAME]}"] = Sentence(
                gettext_noop("is not known")
            )
        pointer = item.get("pointer")
        if (
            not isinstance(pointer, str)
            or len(pointer) > MAX_POINTER
            or not is_pointer(pointer)
        ):
            faults[f"{place}.pointer"] = Sentence(
                gettext_noop(
                    "must be a JSON pointer of at most %(limit)s characters, such as /amount or /customer/name"
                ),
                {"limit": MAX_POINTER},
            )
        elif test := _whole_test(item, place, faults):
            read.append(InputCondition(pointer, test))
    return tuple(read)


def _whole_test(item: JsonMapping, place: str, faults: Faults) -> Test | None:
    if "members" in item:
        return _members(item, place, faults)
    if "type" not in item:
        return _test(item, place, faults)
    if item["type"] not in list(ValueType):
        names = ", ".join(ValueType)
        faults[f"{place}.type"] = Sentence(
            gettext_noop("must be one of %(names)s"), {"names": names}
        )
        return None
    kind = ValueType(item["type"])
    if not any(name in item for name in _TESTS):
        return Typed(kind)
    test = _test(item, place, faults)
    if test is None:
        return None
    fault = _type_fault(kind, test)
    if fault is not None:
        faults[place] = fault
        return None
    return Typed(kind, test)


def _members(item: JsonMapping, place: str, faults: Faults) -> Test | None:
    if item.keys() - {"pointer", "members"}:
        faults[place] = Sentence(
            gettext_noop("has members, so it cannot have another test")
        )
        return None
    names = item["members"]
    if problem := _length_problem(names, MAX_NAMES):
        faults[f"{place}.members"] = problem
        return None
    for index, name in enumerate(names):
        if not isinstance(name, str) or len(name) > MAX_NAME:
            text = gettext_noop("must be text of at most %(limit)s characters")
            faults[f"{place}.members.{index}"] = Sentence(text, {"limit": MAX_NAME})
            return None
    return Members(tuple(names))


def _type_fault(kind: ValueType, test: Test) -> Sentence | None:
    """Return why a test cannot apply to values of this type; None if it can."""
    values = {"type": str(kind)}
    match test:
        case OneOf(values=wanted) if not all(
            is_of(item_type(kind), value) for value in wanted
        ):
            return Sentence(
                gettext_noop("compares with a value that is not of the type %(type)s"),
                values,
            )
        case Between():
            if kind != ValueType.AMOUNT:
                return Sentence(
                    gettext_noop(
                        "has a range, which values of the type %(type)s do not support"
                    ),
                    values,
                )
            if any(end < 0 for end in test.document().values()):
                return Sentence(
                    gettext_noop("has a limit below zero, but no amount is negative")
                )
        case StartsWith(text=text):
            if kind == ValueType.PATH and not text.endswith("/"):
                return Sentence(
                    gettext_noop(
                        "must end with a slash: /data would also match /database"
                    )
                )
            if kind not in {ValueType.PATH, ValueType.LINE, ValueType.TEXT}:
                return Sentence(
                    gettext_noop(
                        "has a prefix, which values of the type %(type)s do not support"
                    ),
                    values,
                )
        case Like(glob=glob) if not is_pattern(kind, glob.text):
            example = gettext_noop(
                "is not a pattern for values of the type %(type)s; write it like %(example)s"
            )
            return Sentence(
                example, values | {"example": _PATTERNS.get(kind, "/data/*")}
            )
    return None


#: An example pattern for each type with a syntax of its own.
_PATTERNS = {
    ValueType.ADDRESS: "*@example.com",
    ValueType.ADDRESSES: "*@example.com",
    ValueType.HOST: "*.example.com",
}


def _test(item: JsonMapping, place: str, faults: Faults) -> Test | None:
    match {name: item[name] for name in _TESTS if name in item}:
        case {"equals": value, **others} if not others:
            return OneOf((value,))
        case {"one_of": values, **others} if not others:
            problem = _length_problem(values, MAX_CHOICES)
            if problem is None:
                return OneOf(tuple(values))
            faults[f"{place}.one_of"] = problem
        case {"starts_with": text, **others} if not others:
            if _is_text(text, f"{place}.starts_with", faults):
                return StartsWith(text)
        case {"like": text, **others} if not others:
            if _is_text(text, f"{place}.like", faults):
                return Like(Glob(text))
        case ends if ends.keys() in _RANGES:
            return _range(ends, place, faults)
        case _:
            names = ", ".join(_TESTS)
            faults[place] = Sentence(
                gettext_noop("needs exactly one test of its value: %(names)s"),
                {"names": names},
            )
    return None


def _is_text(text: Any, place: str, faults: Faults) -> bool:
    if isinstance(text, str) and 0 < len(text) <= MAX_TEXT:
        return True
    faults[place] = Sentence(
        gettext_noop("must be text of 1 to %(limit)s characters"), {"limit": MAX_TEXT}
    )
    return False


def _range(ends: JsonMapping, place: str, faults: Faults) -> Test | None:
    for name, end in ends.items():
        if isinstance(end, bool) or not isinstance(end, int | float):
            faults[f"{place}.{name}"] = Sentence(gettext_noop("must be a number"))
            return None
    if {"at_least", "at_most"} <= ends.keys() and ends["at_least"] > ends["at_most"]:
        faults[f"{place}.at_most"] = Sentence(
            gettext_noop("must not be less than at_least")
        )
        return None
    return Between(**ends)
