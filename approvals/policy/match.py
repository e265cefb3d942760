"""Whether a request fits a match, and why: the one matcher of grants, scopes and the tool lists of hooks.

A `Match` names agents, tools, kinds, sources, MCP servers, requesters, priorities, and values of the input. All that it names
must fit, of each list at least one; what it leaves out fits anything, so an empty match fits every request.

- Names of agents, tools and servers are patterns (`globs`) over the canonical name: case and Unicode are folded once. A request
  without an agent, a tool or a server fits no pattern for it, not even `*`.
- Values of the input are found by JSON pointer and compared strictly: `true` is not 1, and 1 is not "1". But 1 and 1.0 are one
  number, as in the digest of an input. Texts are compared exactly: paths and identifiers have upper and lower case. A text is
  no path: `/data/../etc` starts with `/data/`.
- A missing value never fits. Null is a value.
- A value of another type than it is compared with does not fit; `matches_input` says that it could. Rules take that seriously, so
  that no client passes by one with a value of another type.
- A value can have a type (`value_types`), such as one address, or an amount without a sign. A value of another type never fits.

It takes no regular expressions, and a match over an input takes time in proportion to the values that it points to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from approvals.db.canonical_json import same_json
from approvals.db.json_pointer import ABSENT, is_blocked, pointer_parts, value_behind
from approvals.policy.conditions.equality import one_of
from approvals.policy.globs import Glob
from approvals.policy.value_types import ValueType, compared, is_number, is_of, items_of
from approvals.text.canonical_names import fold
from approvals.text.text import visible
from approvals.text.translatable import Sentence, gettext_noop

#: The lists of a match, and the fact that each is about; those of `NAMES` hold patterns.
FACTS = {
    "tools": "tool",
    "agents": "agent",
    "servers": "server",
    "kinds": "kind",
    "priorities": "priority",
    "sources": "source",
    "requesters": "requester",
}
NAMES = ("tools", "agents", "servers")
#: Characters of a value, and values of a list, that a reason shows.
SHOWN, LISTED = 80, 5


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a request, or of a call that would become one. `requester` is the id of a user."""

    agent: str = ""
    tool: str = ""
    kind: str = ""
    source: str = ""
    server: str = ""
    requester: int | None = None
    priority: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The canonical names, by the list of a match that they have to fit."""
        return {name: fold(vars(self)[FACTS[name]]) for name in NAMES}


def server_of(tool: str) -> str:
    """Return the MCP server of a tool that is named as coding agents name them, `mcp__SERVER__TOOL`; else nothing."""
    prefix, _, rest = tool.partition("__")
    server, separator, _name = rest.partition("__")
    return server if fold(prefix) == "mcp" and separator else ""


@dataclass(frozen=True, slots=True)
class Reason:
    """What one part of a match says about a request, in words for people; `about` is its list, or a JSON pointer."""

    about: str
    fits: bool
    sentence: Sentence


class Test(Protocol):
    """What a value of the input has to be. A value of another type than the test is about does not fit, but `could`."""

    def fits(self, value: Any) -> bool: ...
    def could(self, value: Any) -> bool: ...
    def document(self) -> dict[str, Any]: ...
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

    def document(self) -> dict[str, Any]:
        return {"equals": self.values[0]} if len(self.values) == 1 else {"one_of": list(self.values)}

    @property
    def sentence(self) -> Sentence:
        text = (
            gettext_noop("must be %(wanted)s") if len(self.values) == 1 else gettext_noop("must be one of %(wanted)s")
        )
        return Sentence(text, {"wanted": _listed([_json(value) for value in self.values])})


@dataclass(frozen=True, slots=True)
class Between:
    """A number within a range, both ends included; at least one end is given.

    With only an upper end that is not below zero, a negative number does not fit: nobody means it who writes *at most 50*.
    """

    at_least: float | None = None
    at_most: float | None = None

    def fits(self, value: Any) -> bool:
        if not is_number(value) or self._is_beyond_meaning(value):
            return False
        enough = self.at_least is None or value >= self.at_least
        return enough and (self.at_most is None or value <= self.at_most)

    def could(self, value: Any) -> bool:
        return not is_number(value) or self._is_beyond_meaning(value)

    def _is_beyond_meaning(self, value: float) -> bool:
        return self.at_least is None and self.at_most is not None and value < 0 <= self.at_most

    def document(self) -> dict[str, Any]:
        ends = {"at_least": self.at_least, "at_most": self.at_most}
        return {name: end for name, end in ends.items() if end is not None}

    @property
    def sentence(self) -> Sentence:
        values = {name: _json(end) for name, end in self.document().items()}
        if self.at_most is None:
            return Sentence(gettext_noop("must be a number of at least %(at_least)s"), values)
        if self.at_least is None:
            return Sentence(gettext_noop("must be a number of at most %(at_most)s"), values)
        return Sentence(gettext_noop("must be a number from %(at_least)s to %(at_most)s"), values)


@dataclass(frozen=True, slots=True)
class StartsWith:
    text: str

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value.startswith(self.text)

    def could(self, value: Any) -> bool:
        return not isinstance(value, str)

    def document(self) -> dict[str, Any]:
        return {"starts_with": self.text}

    @property
    def sentence(self) -> Sentence:
        return Sentence(gettext_noop("must be text that starts with %(wanted)s"), {"wanted": _json(self.text)})


@dataclass(frozen=True, slots=True)
class Like:
    glob: Glob

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and self.glob.fits(value)

    def could(self, value: Any) -> bool:
        return not isinstance(value, str)

    def document(self) -> dict[str, Any]:
        return {"like": self.glob.text}

    @property
    def sentence(self) -> Sentence:
        return Sentence(gettext_noop("must be text like %(wanted)s"), {"wanted": _json(self.glob.text)})


@dataclass(frozen=True)
class Typed:
    """A value of a type, of which each item passes a test, if there is one."""

    kind: ValueType
    test: Test | None = None

    def fits(self, value: Any) -> bool:
        if not is_of(self.kind, value):
            return False
        return self._test is None or all(map(self._test.fits, items_of(self.kind, value)))

    def could(self, value: Any) -> bool:
        return not is_of(self.kind, value)

    def document(self) -> dict[str, Any]:
        return {"type": str(self.kind)} | (self.test.document() if self.test is not None else {})

    @property
    def sentence(self) -> Sentence:
        if self.test is None:
            return _TYPES[self.kind]
        return Sentence(gettext_noop("%(type)s; it %(test)s"), {"type": _TYPES[self.kind], "test": self.test.sentence})

    @cached_property
    def _test(self) -> Test | None:
        """The test in the form in which values of the type are compared."""
        match self.test:
            case OneOf(values=values):
                return OneOf([compared(self.kind, value) for value in values])
            case Like(glob=glob):
                return Like(Glob(compared(self.kind, glob.text)))
        return self.test


#: What a value of each type has to be.
_TYPES = {
    ValueType.ADDRESS: Sentence(gettext_noop("must be one email address")),
    ValueType.ADDRESSES: Sentence(gettext_noop("must be a list of email addresses")),
    ValueType.AMOUNT: Sentence(gettext_noop("must be a number without a minus")),
    ValueType.PATH: Sentence(gettext_noop("must be one path, without “..” and special characters")),
    ValueType.HOST: Sentence(gettext_noop("must be the name of a host")),
    ValueType.LINE: Sentence(gettext_noop("must be text of one line")),
    ValueType.TEXT: Sentence(gettext_noop("must be text")),
}


@dataclass(frozen=True)
class Members:
    """An object that has no other members than these."""

    names: Sequence[str]

    def fits(self, value: Any) -> bool:
        return isinstance(value, Mapping) and value.keys() <= set(self.names)

    def could(self, value: Any) -> bool:
        return not isinstance(value, Mapping)

    def document(self) -> dict[str, Any]:
        return {"members": list(self.names)}

    @property
    def sentence(self) -> Sentence:
        names = _listed([_json(name) for name in self.names])
        return Sentence(gettext_noop("must be an object with no other members than %(names)s"), {"names": names})


@dataclass(frozen=True)
class Condition:
    """A value of the input, by JSON pointer, and what it has to be."""

    pointer: str
    test: Test

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        return tuple(pointer_parts(self.pointer))

    def fits(self, value: Mapping[str, Any]) -> bool:
        held = value_behind(value, self._parts)
        return held is not ABSENT and self.test.fits(held)

    def could_fit(self, value: Mapping[str, Any]) -> bool:
        """Return whether only the type of a value keeps it from saying yes or no: of what is pointed to, or on the way there."""
        held = value_behind(value, self._parts)
        return is_blocked(value, self._parts) if held is ABSENT else self.test.could(held)

    def reason(self, value: Mapping[str, Any]) -> Reason:
        held = value_behind(value, self._parts)
        if held is ABSENT:
            return Reason(self.pointer, False, Sentence(gettext_noop("is missing")))
        if self.test.fits(held):
            return Reason(self.pointer, True, Sentence(gettext_noop("is %(value)s"), {"value": _json(held)}))
        return Reason(self.pointer, False, self.test.sentence)


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which requests are meant; what is empty fits any. `approvals.policy.documents` has its stored form."""

    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    requesters: tuple[int, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def fits(self, facts: Facts) -> bool:
        """Return whether a request fits."""
        return self.fits_lists(facts) and self.fits_input(facts)

    def fits_lists(self, facts: Facts) -> bool:
        """Return whether a request fits all but the conditions."""
        # With loops, which take half the time of generators.
        for name, items in self._named.items():
            if not (_fits_one(items, facts.names[name]) if name in NAMES else vars(facts)[FACTS[name]] in items):
                return False
        return True

    def fits_input(self, facts: Facts) -> bool:
        """Return whether a request fits the conditions."""
        for condition in self.conditions:  # noqa: SIM110 - as above
            if not condition.fits(facts.input):
                return False
        return True

    def matches_input(self, facts: Facts) -> bool | None:
        """Return whether a request fits the conditions; None if it could, and no condition says no for sure."""
        answer: bool | None = True
        for condition in self.conditions:
            if condition.fits(facts.input):
                continue
            if not condition.could_fit(facts.input):
                return False
            answer = None
        return answer

    def reasons(self, facts: Facts) -> list[Reason]:
        """Return what each part of the match says; the request fits if all of them do, also if there are none."""
        lists = [
            _reason(name, vars(facts)[FACTS[name]], self._fitting(name, facts), vars(self)[name])
            for name in self._named
        ]
        return [*lists, *(condition.reason(facts.input) for condition in self.conditions)]

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Any]]:
        """The lists that are not empty, with patterns in place of names."""
        lists = {name: vars(self)[name] for name in FACTS if vars(self)[name]}
        return {name: [Glob(fold(text)) for text in items] if name in NAMES else items for name, items in lists.items()}

    def _fitting(self, name: str, facts: Facts) -> list[Any]:
        """Return the items of a list that fit."""
        if name not in NAMES:
            return [item for item in self._named[name] if item == vars(facts)[FACTS[name]]]
        pairs = zip(vars(self)[name], self._named[name], strict=True)
        return [text for text, glob in pairs if _fits_one([glob], facts.names[name])]


def _fits_one(globs: Sequence[Glob], folded: str) -> bool:
    """Return whether a canonical name fits one of these patterns; a name that is absent fits none."""
    for glob in globs:  # noqa: SIM110 - as above
        if folded and glob.fits(folded):
            return True
    return False


def _reason(about: str, value: Any, fitting: Sequence[Any], wanted: Sequence[Any]) -> Reason:
    """Return what a list says about a fact."""
    values = {"value": _short(str(value)), "wanted": _listed([f"“{_short(str(item))}”" for item in fitting or wanted])}
    if fitting:
        return Reason(about, True, Sentence(gettext_noop("“%(value)s” fits %(wanted)s"), values))
    if value in {"", None}:
        return Reason(about, False, Sentence(gettext_noop("there is none, but it must be %(wanted)s"), values))
    return Reason(about, False, Sentence(gettext_noop("“%(value)s” is not %(wanted)s"), values))


def _json(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _listed(texts: Sequence[str]) -> str:
    """Return the first of these texts, for people."""
    return ", ".join([*texts[:LISTED], *["…"] * (len(texts) > LISTED)])


def _short(text: str) -> str:
    return visible(text if len(text) <= SHOWN else text[:SHOWN] + "…")
