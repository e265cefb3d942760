"""The conditions of rules in CEL, the Common Expression Language: checked when they are saved, bounded when they run.

A condition has no regular expressions and makes no lists: without both, what it costs can be told before it runs, from its tree
and from the size of what it reads (`cost`). One that would cost too much does not run. Whatever goes wrong, the
outcome is None, which is neither true nor false.

CEL says that 1 and "1" differ, and that a loop over an object goes through the names of its members. A client that sends another
type would pass by a rule in both ways. So equality and `in` are functions of our own, for which values of different types cannot
be compared, and a loop needs a list; the names of an object are `keys(…)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cel_expr_python import cel

from approvals.policy.conditions import equality
from approvals.policy.conditions.cost import Size, cost_of
from approvals.policy.conditions.tree import Kind, Node, read_tree, rewritten
from approvals.policy.spelling import NAMES, spelled_as, texts_in
from approvals.text.translatable import TranslatableError, gettext_noop

MAX_LENGTH = 2_000
#: What all conditions of one request may cost together, in steps of at most two nanoseconds.
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
  - {name: input, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
  - {name: context, type_name: dyn}
  - {name: requester, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
  - {name: hour, type_name: int}
  - {name: weekday, type_name: int}
  - {name: now, type_name: timestamp}
"""
#: CEL's message, such as `INVALID_ARGUMENT: ERROR: <input>:1:8: undeclared reference to 'tol' (in container '')`.
_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
#: The types of a whole number and of one with a point, side by side.
_MIXED = re.compile(r"'\((int, double|double, int)\)'")
_NAMES = re.compile(r"\brequester\b")


class InvalidExpression(TranslatableError, ValueError):
    """The text is no condition; the message says where and why."""


class Incomparable(ValueError):
    """Values of different types were compared."""


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


@dataclass(frozen=True, slots=True)
class _Compiled:
    program: Any
    tree: Node


@dataclass(frozen=True)
class Expression:
    """A condition. InvalidExpression if its text is none."""

    text: str
    _compiled: _Compiled = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", _compile(self.text))

    @functools.cached_property
    def reads_requester(self) -> bool:
        """Whether it may need the name, the teams and the roles of who asks."""
        return _NAMES.search(self.text) is not None

    @functools.cached_property
    def mixes_numbers(self) -> bool:
        """Whether it calculates with a value as it is read. JSON has one kind of number and CEL has two, which it does not mix:
        `input.amount * 2` is an error of 2.5, and `input.amount * 2.0` of 2.
        """
        return any(_calculates_with_read(node) for node in _nodes(self._compiled.tree))

    def cost(self, size: Size) -> int:
        """Return the most steps that it takes over values of this size."""
        return _cost(self.text, size.rounded())

    def holds(self, values: Mapping[str, Any], size: Size, budget: Budget) -> bool | None:
        """Return whether it is true of these values; None if that cannot be said."""
        if not budget.take(self.cost(size)):
            return None
        try:
            value = self._compiled.program.eval(data=self._with_names(values))
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


@functools.lru_cache(maxsize=10_000)
def _cost(text: str, size: Size) -> int:
    """Return what a condition costs; sizes are rounded, so that few of them occur."""
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
#: The variables of which CEL knows the type.
_TYPED = frozenset({"tool", "agent", "kind", "source", "server", "priority", "hour", "weekday", "now"})
#: The functions of ours in place of CEL's own. No text of a condition can name them.
_STRICT = {"_==_": ("@same", _same), "_!=_": ("@differs", _differs), "@in": ("@within", _within)}


def _function_for(call: Node) -> str:
    """Return the function that a call of CEL becomes."""
    if call.name not in _STRICT or any(part.kind == Kind.CALL and part.name == "type" for part in call.parts):
        # A type is asked for by name: every value has one.
        return call.name
    if call.name == "@in" and not _may_be_object_by_mistake(call.parts[1]):
        return call.name
    return _STRICT[call.name][0]


def _compares_with_constant(call: Node) -> bool:
    """Return whether a value of what is read is compared with a text, a number or a truth value of the rule.

    CEL's own order has no answer for other types either, and needs no copy of the value, which may be large.
    """
    if call.name not in {"_==_", "_!=_"}:
        return False
    constants = [part for part in call.parts if part.kind == Kind.CONSTANT and part.name != "null"]
    return len(constants) == 1 and any(_is_read(part) for part in call.parts)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from _nodes(part)


def _calculates_with_read(node: Node) -> bool:
    """Return whether this is arithmetic with a value of the input or context; `+` also joins texts and lists."""
    if node.kind != Kind.CALL or node.name not in _ARITHMETIC:
        return False
    return not _joins(node) and any(part.kind == Kind.MEMBER or _is_loose(part) for part in node.parts)


def _joins(node: Node) -> bool:
    """Return whether this is a `+` of texts or lists, as far as the condition says."""
    added = node.kind == Kind.CALL and node.name == "_+_"
    return added and any(part.length or part.kind == Kind.LIST or _joins(part) for part in node.parts)


def _is_loose(node: Node) -> bool:
    """Return whether this is a variable or an element of what is read, whose type is not known.

    The count of `exists_one` is a variable too, of CEL's own: conditions cannot write its name.
    """
    if node.kind == Kind.CALL:
        return node.name == "_[_]"
    return node.kind == Kind.NAME and node.name not in _TYPED and not node.name.startswith(("@", "__"))


def _is_read(node: Node) -> bool:
    """Return whether this is a variable, or a member of what is one."""
    return node.kind == Kind.NAME or (node.kind == Kind.MEMBER and _is_read(node.parts[0]))


def _may_be_object_by_mistake(node: Node) -> bool:
    """Return whether a list is meant, but an object may come: `input` is always one."""
    return not (node.kind == Kind.OBJECT or (node.kind == Kind.NAME and node.name == "input"))


@functools.cache
def _environment() -> Any:
    any_, bool_, texts = cel.Type.DYN, cel.Type.BOOL, cel.Type.List(cel.Type.STRING)
    functions = [
        cel.FunctionDecl(name, [cel.Overload(name.strip("@"), bool_, [any_, any_], False, implementation)])
        for name, implementation in _STRICT.values()
    ]
    functions.append(cel.FunctionDecl("keys", [cel.Overload("keys_of_object", texts, [any_], False, _keys)]))
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_ENVIRONMENT), extensions=[cel.CelExtension("strict", functions)])


@functools.lru_cache(maxsize=1_000)
def _compile(text: str) -> _Compiled:
    if not text.strip() or len(text) > MAX_LENGTH:
        raise InvalidExpression(gettext_noop("must be text of 1 to %(limit)s characters"), limit=MAX_LENGTH)
    try:
        checked = _environment().compile(text)
    except (RuntimeError, UnicodeError) as error:
        fault = _FAULT.search(str(error))
        if fault is None or int(fault[1]) < 1:
            raise InvalidExpression(gettext_noop("is too deeply nested, or cannot be read")) from error
        line, column, message = int(fault[1]), int(fault[2]), fault[3].partition(" (in container")[0]
        text = gettext_noop("line %(line)s, column %(column)s: %(message)s")
        if _MIXED.search(message):
            text = gettext_noop(
                "line %(line)s, column %(column)s: %(message)s. Write both numbers with a point, as in 1.0, or neither; "
                "double(…) makes the one of the other"
            )
        raise InvalidExpression(
            text,
            line=line,
            column=column,
            message=message[:300],
        ) from error
    if checked.return_type() != cel.Type.BOOL:
        raise InvalidExpression(gettext_noop("must be true or false; compare a value, as in input.urgent == true"))
    # Without CEL's notes on types, which speak of the functions that are replaced.
    stored = _environment().compile(text, disable_check=True).serialize()
    strict = rewritten(
        stored, function=_function_for, in_order=_compares_with_constant, needs_list=_may_be_object_by_mistake
    )
    return _Compiled(_environment().deserialize(strict), read_tree(strict))
