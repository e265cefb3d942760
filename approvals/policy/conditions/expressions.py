"""The conditions of rules in CEL, the Common Expression Language: checked when saved, bounded when run.

A condition has no regular expressions and creates no lists, so its cost can be computed in advance from its tree and the size of
its values (`cost`). A condition that would cost too much does not run. Any error gives the outcome None, which is neither true
nor false.

In CEL, 1 and "1" differ, and a loop over an object iterates over the names of its members. A client could use both to bypass a
rule by sending another type. So equality and `in` are replaced by our own functions, which do not compare values of different
types, and a loop requires a list; the names of an object are `keys(…)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from approvals.json_types import JsonMapping
from approvals.policy.conditions import equality
from approvals.policy.conditions.cost import Size, cost_of
from approvals.policy.conditions.tree import ExpressionKind, Node, read_tree, rewritten
from approvals.policy.spelling import NAMES, spelled_as, texts_in
from approvals.text.translatable import TranslatableError, gettext_noop

MAX_LENGTH = 2_000
#: Combined cost limit for all conditions of one request, in steps of at most two nanoseconds.
MAX_STEPS = 15_000_000
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
  - {name: on_behalf_of, type_name: string}
  - {name: input, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
  - {name: context, type_name: dyn}
  - {name: requester, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
  - {name: hour, type_name: int}
  - {name: weekday, type_name: int}
  - {name: now, type_name: timestamp}
"""
#: CEL's message, such as `INVALID_ARGUMENT: ERROR: <input>:1:8: undeclared reference to 'tol' (in container '')`.
_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
#: CEL's types of integers and of floating-point numbers, side by side.
_MIXED = re.compile(r"'\((int, double|double, int)\)'")
_NAMES = re.compile(r"\brequester\b")


class InvalidExpression(TranslatableError, ValueError):
    """The text is not a valid condition; the message says where and why."""


class Incomparable(ValueError):
    """Values of different types were compared."""


@dataclass(slots=True)
class StepBudget:
    """The remaining steps for the conditions of one request."""

    left: int = MAX_STEPS

    def take(self, steps: int) -> bool:
        """Take steps; if there are not enough, take none and return False."""
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class _Compiled:
    program: Any
    tree: Node


@dataclass(frozen=True)
class Expression:
    """A condition. Raises InvalidExpression if its text is invalid."""

    text: str
    _compiled: _Compiled = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", _compile(self.text))

    @functools.cached_property
    def reads_requester(self) -> bool:
        """Whether it may read the requester's name, teams or roles."""
        return _NAMES.search(self.text) is not None

    @functools.cached_property
    def mixes_numbers(self) -> bool:
        """Whether it does arithmetic with a raw input value. JSON has one type of number, but CEL has two and does not mix them:
        `input.amount * 2` is an error for 2.5, and `input.amount * 2.0` is one for 2.
        """
        return any(_calculates_with_read(node) for node in _nodes(self._compiled.tree))

    def cost(self, size: Size) -> int:
        """Return the maximum steps over values of this size."""
        return _cost(self.text, size.rounded())

    def holds(self, values: JsonMapping, size: Size, budget: StepBudget) -> bool | None:
        """Return whether it is true of these values; None if it cannot be evaluated."""
        from cel_expr_python import cel  # noqa: PLC0415 - loaded late

        if not budget.take(self.cost(size)):
            return None
        try:
            value = self._compiled.program.eval(data=self._with_names(values))
            # Missing members, and most errors, are returned as a value of another type.
            return value.value() is True if value.type() == cel.Type.BOOL else None
        except Exception:
            return None

    def _with_names(self, values: JsonMapping) -> JsonMapping:
        """Return the values with names respelled as in the condition, because CEL compares texts exactly."""
        return {
            **values,
            **{name: spelled_as(self._texts, values[name]) for name in self._names},
        }

    @functools.cached_property
    def _names(self) -> Sequence[str]:
        return [name for name in NAMES if re.search(rf"\b{name}\b", self.text)]

    @functools.cached_property
    def _texts(self) -> Sequence[str]:
        return texts_in(self.text)


@functools.lru_cache(maxsize=10_000)
def _cost(text: str, size: Size) -> int:
    """Return the cost of a condition; sizes are rounded, so that the cache has few entries."""
    return cost_of(_compile(text).tree, size)


def _same(left: Any, right: Any) -> bool:
    return _sure(equality.equal(left, right))


def _differs(left: Any, right: Any) -> bool:
    return not _same(left, right)


def _within(value: Any, items: Any) -> bool:
    return _sure(equality.one_of(value, items) if isinstance(items, list) else None)


def _keys(value: Any) -> list[str]:
    if not isinstance(value, dict):
        raise Incomparable
    return list(value)


def _sure(answer: bool | None) -> bool:
    if answer is None:
        raise Incomparable
    return answer


_ARITHMETIC = frozenset({"_+_", "_-_", "_*_", "_/_", "_%_"})
#: Variables whose type is known to CEL.
_TYPED = frozenset(
    {
        "tool",
        "agent",
        "kind",
        "source",
        "server",
        "priority",
        "on_behalf_of",
        "hour",
        "weekday",
        "now",
    }
)
#: Our own functions in place of CEL's. Conditions cannot write these names.
_STRICT = {
    "_==_": ("@same", _same),
    "_!=_": ("@differs", _differs),
    "@in": ("@within", _within),
}


def _function_for(call: Node) -> str:
    """Return the function that replaces a CEL call."""
    if call.name not in _STRICT or any(
        part.kind == ExpressionKind.CALL and part.name == "type" for part in call.parts
    ):
        # An explicit test of a type is defined for every value.
        return call.name
    if call.name == "@in" and not _may_be_object_by_mistake(call.parts[1]):
        return call.name
    return _STRICT[call.name][0]


def _compares_with_constant(call: Node) -> bool:
    """Return whether a read value is compared with a text, number or boolean constant.

    CEL's own order is undefined for other types too, and needs no copy of the value, which may be large.
    """
    if call.name not in {"_==_", "_!=_"}:
        return False
    constants = [
        part
        for part in call.parts
        if part.kind == ExpressionKind.CONSTANT and part.name != "null"
    ]
    return len(constants) == 1 and any(_is_read(part) for part in call.parts)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from _nodes(part)


def _calculates_with_read(node: Node) -> bool:
    """Return whether this is arithmetic with a value of the input or context; `+` also joins texts and lists."""
    return (
        node.name in _ARITHMETIC
        and not _joins(node)
        and any(
            part.kind == ExpressionKind.MEMBER or _is_loose(part) for part in node.parts
        )
    )


def _joins(node: Node) -> bool:
    """Return whether this is a `+` of texts or lists, as far as the condition shows."""
    return node.name == "_+_" and any(
        part.length or part.kind == ExpressionKind.LIST or _joins(part)
        for part in node.parts
    )


def _is_loose(node: Node) -> bool:
    """Return whether this is a variable or an element of a read value, whose type is unknown.

    The counter of `exists_one` is an internal CEL variable: conditions cannot write its name.
    """
    if node.kind == ExpressionKind.CALL:
        return node.name == "_[_]"
    return (
        node.kind == ExpressionKind.NAME
        and node.name not in _TYPED
        and not node.name.startswith("@")
    )


def _is_read(node: Node) -> bool:
    """Return whether this is a variable, or a member of one at any depth."""
    return node.kind == ExpressionKind.NAME or (
        node.kind == ExpressionKind.MEMBER and _is_read(node.parts[0])
    )


def _may_be_object_by_mistake(node: Node) -> bool:
    """Return whether a list is expected here, but an object could be passed; `input` is always an object."""
    return not (
        node.kind == ExpressionKind.OBJECT
        or (node.kind == ExpressionKind.NAME and node.name == "input")
    )


@functools.cache
def _environment() -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - loaded late

    any_ = cel.Type.DYN
    bool_ = cel.Type.BOOL
    texts = cel.Type.List(cel.Type.STRING)
    functions = [
        cel.FunctionDecl(
            name,
            [cel.Overload(name.strip("@"), bool_, [any_, any_], False, implementation)],
        )
        for name, implementation in _STRICT.values()
    ]
    functions.append(
        cel.FunctionDecl(
            "keys", [cel.Overload("keys_of_object", texts, [any_], False, _keys)]
        )
    )
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(_ENVIRONMENT),
        extensions=[cel.CelExtension("strict", functions)],
    )


@functools.lru_cache(maxsize=1_000)
def _compile(text: str) -> _Compiled:
    from cel_expr_python import cel  # noqa: PLC0415 - loaded late

    if not text.strip() or len(text) > MAX_LENGTH:
        raise InvalidExpression(
            gettext_noop("must be text of 1 to %(limit)s characters"), limit=MAX_LENGTH
        )
    try:
        checked = _environment().compile(text)
    except (RuntimeError, UnicodeError) as error:
        fault = _FAULT.search(str(error))
        if fault is None or int(fault[1]) < 1:
            raise InvalidExpression(
                gettext_noop("is too deeply nested, or cannot be read")
            ) from error
        line = int(fault[1])
        column = int(fault[2])
        message = fault[3].partition(" (in container")[0]
        text = gettext_noop("line %(line)s, column %(column)s: %(message)s")
        if _MIXED.search(message):
            text = gettext_noop(
                "line %(line)s, column %(column)s: %(message)s. Write both numbers with a decimal point, as "
                "in 1.0, or neither; double(…) converts a whole number"
            )
        raise InvalidExpression(
            text,
            line=line,
            column=column,
            message=message[:300],
        ) from error
    if checked.return_type() != cel.Type.BOOL:
        raise InvalidExpression(
            gettext_noop(
                "must be true or false; compare a value, as in input.urgent == true"
            )
        )
    # Without CEL's notes on types, which mention the replaced functions.
    stored = _environment().compile(text, disable_check=True).serialize()
    strict = rewritten(
        stored,
        function=_function_for,
        in_order=_compares_with_constant,
        needs_list=_may_be_object_by_mistake,
    )
    return _Compiled(_environment().deserialize(strict), read_tree(strict))
