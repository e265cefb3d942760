"""The conditions of rules in CEL, the Common Expression Language: checked when they are saved, bounded when they run.

A condition has no regular expressions and makes no lists: without both, what it costs can be told before it runs, from its
text and from the size of what it reads. One that would cost too much does not run. Whatever goes wrong, the outcome is None,
which is neither true nor false.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cel_expr_python import cel

from approvals.policy.spelling import NAMES, spelled_as, texts_in
from approvals.text.translatable import TranslatableError, gettext_noop

MAX_LENGTH = 2_000
#: What all conditions of one request may cost together, in steps of at most two nanoseconds.
MAX_STEPS = 15_000_000
#: CEL ends a condition itself after so many rounds of its loops.
_MAX_ROUNDS = 10_000
_ENVIRONMENT = """
name: policy
stdlib:
  exclude_macros: [map, filter]
  exclude_functions: [{name: matches}]
variables:
  - {name: tool, type_name: string}
  - {name: agent, type_name: string}
  - {name: kind, type_name: string}
  - {name: source, type_name: string}
  - {name: server, type_name: string}
  - {name: priority, type_name: string}
  - {name: input, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
  - {name: context, type_name: dyn}
  - {name: requester, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
  - {name: hour, type_name: int}
  - {name: weekday, type_name: int}
  - {name: now, type_name: timestamp}
"""
#: CEL's message, such as `INVALID_ARGUMENT: ERROR: <input>:1:8: undeclared reference to 'tol' (in container '')`.
_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
#: What CEL skips between two words: blanks and comments. Where a text only looks so, a condition seems to cost more.
_GAP = r"(?:\s|//[^\n]*+)*+"
_LOOPS = re.compile(rf"\.{_GAP}(?:all|exists|exists_one){_GAP}\(")
_PARENTHESES = re.compile(rf"{_LOOPS.pattern}|[()]")
#: Texts in a condition, and other texts and comments, with which nothing is known of where texts begin and end.
_TEXTS, _ODD_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*+"'), re.compile(r"""['`]|//|\w""|\"{3}""")
#: What takes time in proportion to what is read, and the function that takes the most.
_OPERATIONS = re.compile(rf"[=<>!+]=?|\w+{_GAP}\(|\b(?:in|input|context)\b")
_SEARCHES = re.compile(rf"\bcontains{_GAP}\(")
_NAMES = re.compile(r"\brequester\b")


class InvalidExpression(TranslatableError, ValueError):
    """The text is no condition; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Size:
    """What there is to read in the values that a condition gets: its bytes, and the items of its longest list or object."""

    bytes: int
    longest: int


@dataclass(slots=True)
class Budget:
    """The steps that are left for the conditions of one request."""

    left: int = MAX_STEPS

    def take(self, steps: int) -> bool:
        """Take steps; False, and nothing taken, if there are not so many."""
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True)
class Expression:
    """A condition. InvalidExpression if its text is none."""

    text: str
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", _compile(self.text))

    @functools.cached_property
    def reads_requester(self) -> bool:
        """Whether it may need the name, the teams and the roles of who asks."""
        return _NAMES.search(self.text) is not None

    def holds(self, values: Mapping[str, Any], size: Size, budget: Budget) -> bool | None:
        """Return whether it is true of these values; None if that cannot be said."""
        if not budget.take(self._cost(size)):
            return None
        try:
            value = self._compiled.eval(data=self._with_names(values))
            # What is missing, and most errors, come back as a value of another type.
            return value.value() is True if value.type() == cel.Type.BOOL else None
        except Exception:
            return None

    def _with_names(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values with the names that the condition reads in its own spelling: CEL compares texts exactly."""
        if not self._names:
            return values
        return {**values, **{name: spelled_as(self._texts, values[name]) for name in self._names}}

    @functools.cached_property
    def _names(self) -> Sequence[str]:
        return [name for name in NAMES if re.search(rf"\b{name}\b", self.text)]

    @functools.cached_property
    def _texts(self) -> Sequence[str]:
        return texts_in(self.text)

    @functools.cached_property
    def _weight(self) -> int:
        return 1 + len(_OPERATIONS.findall(self.text)) + 4 * len(_SEARCHES.findall(self.text))

    @functools.cached_property
    def _depth(self) -> int:
        """How many loops are within one another, at most."""
        bare = _TEXTS.sub('""', self.text)
        if _ODD_TEXTS.search(bare):
            return len(_LOOPS.findall(self.text))
        # Without the texts in it, each parenthesis opens or closes something.
        depth, open_ = 0, list[bool]()
        for part in _PARENTHESES.findall(bare):
            if part == ")":
                open_.pop()
            else:
                open_.append(part != "(")
                depth = max(depth, sum(open_))
        return depth

    def _cost(self, size: Size) -> int:
        """Return the most steps that this takes."""
        listed = max(size.longest, self.text.count(",") + 1)
        rounds: int = min(listed**self._depth, _MAX_ROUNDS)
        return self._weight * (size.bytes + len(self.text)) * rounds


def size_of(*values: Any) -> Size:
    """Return what there is to read in JSON values."""
    total = longest = 0
    for value in _all_values(values):
        total += 50
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, Mapping | list | tuple):
            longest = max(longest, len(value))
            if isinstance(value, Mapping):
                total += sum(len(name) for name in value)
    return Size(total, longest)


def _all_values(values: Any) -> Iterator[Any]:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


@functools.cache
def _environment() -> Any:
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_ENVIRONMENT))


@functools.lru_cache(maxsize=1_000)
def _compile(text: str) -> Any:
    if not text.strip() or len(text) > MAX_LENGTH:
        raise InvalidExpression(gettext_noop("must be text of 1 to %(limit)s characters"), limit=MAX_LENGTH)
    try:
        compiled = _environment().compile(text)
    except (RuntimeError, UnicodeError) as error:
        fault = _FAULT.search(str(error))
        if fault is None or int(fault[1]) < 1:
            raise InvalidExpression(gettext_noop("is too deeply nested, or cannot be read")) from error
        line, column, message = int(fault[1]), int(fault[2]), fault[3].partition(" (in container")[0]
        raise InvalidExpression(
            gettext_noop("line %(line)s, column %(column)s: %(message)s"),
            line=line,
            column=column,
            message=message[:300],
        ) from error
    if compiled.return_type() != cel.Type.BOOL:
        raise InvalidExpression(gettext_noop("must be true or false; compare a value, as in input.urgent == true"))
    return compiled
