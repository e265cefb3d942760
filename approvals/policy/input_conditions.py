"""Tests of the values in an input, and why one fits or not, in words for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol

from approvals.db.canonical_json import same_json
from approvals.db.json_pointer import ABSENT, is_blocked, pointer_parts, value_behind
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.conditions.equality import one_of
from approvals.policy.globs import Glob
from approvals.policy.value_types import ValueType, compared, is_number, is_of, items_of
from approvals.text.text import visible
from approvals.text.translatable import Sentence, gettext_noop

#: Maximum length of a value, and number of list items, in a reason.
SHOWN = 80
LISTED = 5


@dataclass(frozen=True, slots=True)
class MatchReason:
    """The result of one part of a match, in words for people; `about` is its list, or a JSON pointer."""

    about: str
    fits: bool
    sentence: Sentence


class Test(Protocol):
    """A test of an input value. A value of a type that the test is not about does not match, but `could`."""

    def fits(self, value: Any) -> bool: ...
    def could(self, value: Any) -> bool: ...
    def document(self) -> JsonDict: ...
    @property
    def sentence(self) -> Sentence: ...


@dataclass(frozen=True, slots=True)
class OneOf:
    values: Sequence[Any]

    def fits(self, value: Any) -> bool:
        for wanted in self.values:  # noqa: SIM110 - takes half the time of a generator
            if same_json(value, wanted):
                return True
        return False

    def could(self, value: Any) -> bool:
        return one_of(value, self.values) is None

    def document(self) -> JsonDict:
        return (
            {"equals": self.values[0]}
            if len(self.values) == 1
            else {"one_of": list(self.values)}
        )

    @property
    def sentence(self) -> Sentence:
        text = (
            gettext_noop("must be %(wanted)s")
            if len(self.values) == 1
            else gettext_noop("must be one of %(wanted)s")
        )
        return Sentence(
            text, {"wanted": listed([_json(value) for value in self.values])}
        )


@dataclass(frozen=True, slots=True)
class Between:
    """A number within a range, which one of these sets of ends gives: `_RANGES`.

    With only an upper end, zero or positive, negative numbers do not match: *at most 50* is never meant to include them.
    """

    at_least: float | None = None
    at_most: float | None = None
    more_than: float | None = None
    less_than: float | None = None

    def fits(self, value: Any) -> bool:
        if not is_number(value) or self._is_beyond_meaning(value):
            return False
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.more_than is None or value > self.more_than)
            and (self.less_than is None or value < self.less_than)
        )

    def could(self, value: Any) -> bool:
        return not is_number(value) or self._is_beyond_meaning(value)

    def _is_beyond_meaning(self, value: float) -> bool:
        if self.less_than is not None:
            return value < 0 < self.less_than
        return (
            self.at_least is None
            and self.at_most is not None
            and value < 0 <= self.at_most
        )

    def document(self) -> JsonDict:
        return {name: end for name, end in asdict(self).items() if end is not None}

    @property
    def sentence(self) -> Sentence:
        values = {name: _json(end) for name, end in self.document().items()}
        return Sentence(_RANGES[tuple(values)], values)


#: Requirements on a number, by the ends of its range.
_RANGES = {
    ("at_least",): gettext_noop("must be a number of at least %(at_least)s"),
    ("at_most",): gettext_noop("must be a number of at most %(at_most)s"),
    ("at_least", "at_most"): gettext_noop(
        "must be a number from %(at_least)s to %(at_most)s"
    ),
    ("more_than",): gettext_noop("must be a number of more than %(more_than)s"),
    ("less_than",): gettext_noop("must be a number of less than %(less_than)s"),
}


@dataclass(frozen=True, slots=True)
class StartsWith:
    text: str

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value.startswith(self.text)

    def could(self, value: Any) -> bool:
        return not isinstance(value, str)

    def document(self) -> JsonDict:
        return {"starts_with": self.text}

    @property
    def sentence(self) -> Sentence:
        return Sentence(
            gettext_noop("must be text that starts with %(wanted)s"),
            {"wanted": _json(self.text)},
        )


@dataclass(frozen=True, slots=True)
class Like:
    glob: Glob

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and self.glob.fits(value)

    def could(self, value: Any) -> bool:
        return not isinstance(value, str)

    def document(self) -> JsonDict:
        return {"like": self.glob.text}

    @property
    def sentence(self) -> Sentence:
        return Sentence(
            gettext_noop("must be text like %(wanted)s"),
            {"wanted": _json(self.glob.text)},
        )


@dataclass(frozen=True)
class Typed:
    """A value of a type; each of its items also passes a test, if there is one."""

    kind: ValueType
    test: Test | None = None

    def fits(self, value: Any) -> bool:
        if not is_of(self.kind, value):
            return False
        return self._test is None or all(
            map(self._test.fits, items_of(self.kind, value))
        )

    def could(self, value: Any) -> bool:
        return not is_of(self.kind, value)

    def document(self) -> JsonDict:
        return {"type": str(self.kind)} | (
            self.test.document() if self.test is not None else {}
        )

    @property
    def sentence(self) -> Sentence:
        if self.test is None:
            return _TYPES[self.kind]
        return Sentence(
            gettext_noop("%(type)s; it %(test)s"),
            {"type": _TYPES[self.kind], "test": self.test.sentence},
        )

    @cached_property
    def _test(self) -> Test | None:
        """The test, with its values in the form in which values of the type are compared."""
        match self.test:
            case OneOf(values=values):
                return OneOf([compared(self.kind, value) for value in values])
            case Like(glob=glob):
                return Like(Glob(compared(self.kind, glob.text)))
        return self.test


#: Requirements on the values of each type.
_TYPES = {
    ValueType.ADDRESS: Sentence(gettext_noop("must be one email address")),
    ValueType.ADDRESSES: Sentence(gettext_noop("must be a list of email addresses")),
    ValueType.AMOUNT: Sentence(gettext_noop("must be a number of at least 0")),
    ValueType.PATH: Sentence(
        gettext_noop("must be one path, without “..” and special characters")
    ),
    ValueType.HOST: Sentence(gettext_noop("must be a host name")),
    ValueType.LINE: Sentence(gettext_noop("must be one line of text")),
    ValueType.TEXT: Sentence(gettext_noop("must be text")),
}


@dataclass(frozen=True)
class Members:
    """An object whose members are all among these."""

    names: Sequence[str]

    def fits(self, value: Any) -> bool:
        return isinstance(value, Mapping) and value.keys() <= set(self.names)

    def could(self, value: Any) -> bool:
        return not isinstance(value, Mapping)

    def document(self) -> JsonDict:
        return {"members": list(self.names)}

    @property
    def sentence(self) -> Sentence:
        names = listed([_json(name) for name in self.names])
        return Sentence(
            gettext_noop("must be an object with no other members than %(names)s"),
            {"names": names},
        )


@dataclass(frozen=True)
class InputCondition:
    """A test of the input value at a JSON pointer."""

    pointer: str
    test: Test

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        return tuple(pointer_parts(self.pointer))

    def fits(self, value: JsonMapping) -> bool:
        held = value_behind(value, self._parts)
        return held is not ABSENT and self.test.fits(held)

    def could_fit(self, value: JsonMapping) -> bool:
        """Return whether only the type of a value, at the pointer or on the way to it, keeps the test from a clear result."""
        held = value_behind(value, self._parts)
        return (
            is_blocked(value, self._parts) if held is ABSENT else self.test.could(held)
        )

    def reason(self, value: JsonMapping) -> MatchReason:
        held = value_behind(value, self._parts)
        if held is ABSENT:
            return MatchReason(
                self.pointer, False, Sentence(gettext_noop("is missing"))
            )
        if self.test.fits(held):
            return MatchReason(
                self.pointer,
                True,
                Sentence(gettext_noop("is %(value)s"), {"value": _json(held)}),
            )
        return MatchReason(self.pointer, False, self.test.sentence)


def _json(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def listed(texts: Sequence[str]) -> str:
    """Return the first of these texts, joined for people."""
    return ", ".join([*texts[:LISTED], *["…"] * (len(texts) > LISTED)])


def shortened(text: str) -> str:
    return visible(text if len(text) <= SHOWN else text[:SHOWN] + "…")
