"""Compute an upper bound on the cost of a condition, from its syntax tree and the size of the values that it reads; pure.

The price of an operator grows at least as fast as its work when its operands double in size; `benchmarks.condition_costs` shows
both. A step is at most two nanoseconds. Sizes unknown in advance get their upper bound: a value of the input counts as long as
the longest text, and as large as everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from approvals.policy.conditions.tree import ExpressionKind, Node

#: CEL itself stops a condition after this many loop rounds.
_MAX_ROUNDS = 10_000
#: Steps of each part of a condition per evaluation, and per byte of a value that is converted for CEL.
_EACH = 100
_CONVERSION = 2
#: Functions whose work does not grow with their arguments, and those that accept only texts; for other types they raise errors.
_CONSTANT = frozenset(
    {"_&&_", "_||_", "!_", "_?_:_", "_[_]", "@not_strictly_false", "type"}
)
_OF_TEXTS = frozenset({"_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith", "size"})
#: Our own functions, which run in Python and copy their values. Steps per call, and per byte of the arguments.
_OURS = frozenset({"@same", "@differs", "@within", "keys"})
_CALL = 500
_COPIED = 8
#: Steps of a search per position, and bytes compared per step: at each position it may compare the whole search text.
_PLACE = 4
_COMPARED = 16
#: Bytes of a value besides its text, and of values other than text, lists and objects.
_VALUE = 50


@dataclass(frozen=True, slots=True)
class Size:
    """The size of values: bytes in total, items of the longest list or object, and bytes of the longest text."""

    bytes: int
    longest: int
    text: int

    def __add__(self, other: Size) -> Size:
        """Return the combined size."""
        return Size(
            self.bytes + other.bytes,
            max(self.longest, other.longest),
            max(self.text, other.text),
        )

    def rounded(self) -> Size:
        """Round up to one of few sizes."""
        return Size(
            *(
                1 << max(0, number - 1).bit_length()
                for number in (self.bytes, self.longest, self.text)
            )
        )


def size_of(*values: Any) -> Size:
    """Return the size of JSON values."""
    total = longest = text = 0
    for value in _all_values(values):
        total += _VALUE
        texts: tuple[str, ...] = ()
        if isinstance(value, str):
            texts = (value,)
        elif isinstance(value, Mapping | list | tuple):
            longest = max(longest, len(value))
            texts = tuple(value) if isinstance(value, Mapping) else ()
        for each in texts:
            length = len(each) if each.isascii() else 4 * len(each)
            total += length
            text = max(text, length)
    return Size(total, longest, text)


def _all_values(values: Any) -> Iterator[Any]:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def cost_of(tree: Node, size: Size) -> int:
    """Return the maximum steps of a condition over values of this size."""
    bill = _Bill(size)
    bill.add(tree, _Times(1, 1), {})
    return bill.steps


@dataclass(frozen=True, slots=True)
class _Extent:
    """The maximum size of a value: its bytes, the items of any list in it, and the bytes of any text in it.

    In a loop, `share` is one round's part of the whole list: some item may be as large as the list, but not all are.
    """

    bytes: int = _VALUE
    share: int = _VALUE
    items: int = 0
    text: int = 0


@dataclass(frozen=True, slots=True)
class _Times:
    """How often a part of a condition is evaluated: `most`, and the number without CEL's limit on loops."""

    most: int
    unbounded: int

    def rounds(self, items: int) -> _Times:
        return _Times(min(self.most * items, _MAX_ROUNDS), self.unbounded * items)

    def of(self, steps_each: int, extent: _Extent) -> int:
        """Return the steps of reading a value each time: as often as CEL allows, or its share in each round."""
        return steps_each * min(self.most * extent.bytes, self.unbounded * extent.share)


@dataclass(slots=True)
class _Bill:
    size: Size
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.steps = _CONVERSION * self.size.bytes

    def add(
        self, node: Node, times: _Times, variables: Mapping[str, _Extent]
    ) -> _Extent:
        """Add the cost of a part of a condition that is evaluated this often; return the size of its value."""
        self.steps += times.most * _EACH
        match node.kind:
            case ExpressionKind.CONSTANT:
                return _Extent(
                    _VALUE + node.length, _VALUE + node.length, 0, node.length
                )
            case ExpressionKind.NAME:
                everything = _Extent(
                    self.size.bytes, self.size.bytes, self.size.longest, self.size.text
                )
                return variables.get(node.name, everything)
            case ExpressionKind.MEMBER:
                return self.add(node.parts[0], times, variables)
            case ExpressionKind.LOOP:
                return self._add_loop(node, times, variables)
        parts = [self.add(part, times, variables) for part in node.parts]
        whole = _together(parts)
        if node.kind == ExpressionKind.CALL:
            self.steps += _price(node.name, parts, whole, times)
            return _returned(node.name, parts, whole)
        return replace(
            whole,
            bytes=_VALUE + whole.bytes,
            share=_VALUE + whole.share,
            items=max(len(parts), whole.items),
        )

    def _add_loop(
        self, node: Node, times: _Times, variables: Mapping[str, _Extent]
    ) -> _Extent:
        looped, first, goes_on, following, returned = node.parts
        through = self.add(looped, times, variables)
        result = self.add(first, times, variables)
        item = replace(through, share=-(-through.share // max(through.items, 1)))
        inner = {**variables, node.name: item, node.result: result}
        rounds = times.rounds(through.items)
        for part in (goes_on, following):
            self.add(part, rounds, inner)
        return self.add(returned, times, inner)


def _price(
    function: str, parts: Sequence[_Extent], whole: _Extent, times: _Times
) -> int:
    """Return the steps of a call. An unknown function is assumed to read all of its arguments once."""
    if function == "contains":
        searched, wanted = (part.text for part in parts)
        return times.most * searched * (_PLACE + -(-wanted // _COMPARED))
    if function in _CONSTANT:
        return 0
    if function in _OURS:
        return times.most * _CALL + times.of(_COPIED, whole)
    if function in _OF_TEXTS:
        texts = sum(part.text for part in parts)
        return times.of(1, replace(whole, bytes=min(texts, whole.bytes)))
    return times.of(1, whole)


def _returned(function: str, parts: Sequence[_Extent], whole: _Extent) -> _Extent:
    match function:
        case "_+_":
            # Joining makes texts and lists longer.
            return replace(
                whole,
                items=sum(part.items for part in parts),
                text=sum(part.text for part in parts),
            )
        case (
            "_&&_" | "_||_" | "!_" | "size" | "type" | "@same" | "@differs" | "@within"
        ):
            return _Extent()
    return whole


def _together(parts: Sequence[_Extent]) -> _Extent:
    """Return the combined size of several values."""
    return _Extent(
        sum(part.bytes for part in parts),
        sum(part.share for part in parts),
        max((part.items for part in parts), default=0),
        max((part.text for part in parts), default=0),
    )
