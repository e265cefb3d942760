"""What a condition costs at most, told from its tree and the size of what it reads; pure.

Each operator has a price that grows at least as fast as its work when what it reads doubles; `benchmarks.condition_costs` shows
both. A step is two nanoseconds or less. What is not known before a condition runs is taken as the largest it can be: a value of
the input is as long as the longest text, and as large as everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from approvals.policy.conditions.tree import Kind, Node

#: CEL ends a condition itself after so many rounds of its loops.
_MAX_ROUNDS = 10_000
#: Steps of every part of a condition, each time it is evaluated, and for each byte of a value that becomes one of CEL.
_EACH, _CONVERSION = 100, 2
#: Functions whose work does not grow with their arguments, and those that read texts alone: other values are an error for them.
_CONSTANT = frozenset({"_&&_", "_||_", "!_", "_?_:_", "_[_]", "@not_strictly_false", "type"})
_OF_TEXTS = frozenset({"_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith", "size"})
#: Functions of ours: calls of Python, for which values are copied. Steps of a call, and for each byte of its arguments.
_OURS, _CALL, _COPIED = frozenset({"@same", "@differs", "@within", "keys"}), 500, 8
#: Steps of a search at each place of the text, and bytes that it compares in one: it may compare the whole wanted text each time.
_PLACE, _COMPARED = 4, 16
#: Bytes of a value besides its text, and of any that is no text, list or object.
_VALUE = 50


@dataclass(frozen=True, slots=True)
class Size:
    """What there is to read in values: its bytes, the items of its longest list or object, and the bytes of its longest text."""

    bytes: int
    longest: int
    text: int

    def __add__(self, other: Size) -> Size:
        """Return the size of both."""
        return Size(self.bytes + other.bytes, max(self.longest, other.longest), max(self.text, other.text))

    def rounded(self) -> Size:
        """Return the next larger size of few."""
        return Size(*(1 << max(0, number - 1).bit_length() for number in (self.bytes, self.longest, self.text)))


def size_of(*values: Any) -> Size:
    """Return what there is to read in JSON values."""
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
    """Return the most steps that a condition takes over values of this size."""
    bill = _Bill(size)
    bill.add(tree, _Times(1, 1), {})
    return bill.steps


@dataclass(frozen=True, slots=True)
class _Extent:
    """How large a value is at most: its bytes, the items of any list in it, and the bytes of any text in it.

    In a loop, `share` is what one round has of the whole list: some item may be as large as the list, but not all are.
    """

    bytes: int = _VALUE
    share: int = _VALUE
    items: int = 0
    text: int = 0


@dataclass(frozen=True, slots=True)
class _Times:
    """How often a part of a condition is evaluated: `most`, and how often it would be if CEL did not end the loops."""

    most: int
    unbounded: int

    def rounds(self, items: int) -> _Times:
        return _Times(min(self.most * items, _MAX_ROUNDS), self.unbounded * items)

    def of(self, steps_each: int, extent: _Extent) -> int:
        """Return the steps for reading a value each time: as often as CEL allows, or each round its share."""
        return steps_each * min(self.most * extent.bytes, self.unbounded * extent.share)


@dataclass(slots=True)
class _Bill:
    size: Size
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.steps = _CONVERSION * self.size.bytes

    def add(self, node: Node, times: _Times, variables: Mapping[str, _Extent]) -> _Extent:
        """Add what a part of a condition costs that is evaluated so often; return how large its value is."""
        self.steps += times.most * _EACH
        match node.kind:
            case Kind.CONSTANT:
                return _Extent(_VALUE + node.length, _VALUE + node.length, 0, node.length)
            case Kind.NAME:
                everything = _Extent(self.size.bytes, self.size.bytes, self.size.longest, self.size.text)
                return variables.get(node.name, everything)
            case Kind.MEMBER:
                return self.add(node.parts[0], times, variables)
            case Kind.LOOP:
                return self._add_loop(node, times, variables)
        parts = [self.add(part, times, variables) for part in node.parts]
        whole = _together(parts)
        if node.kind == Kind.CALL:
            self.steps += _price(node.name, parts, whole, times)
            return _returned(node.name, parts, whole)
        return replace(
            whole, bytes=_VALUE + whole.bytes, share=_VALUE + whole.share, items=max(len(parts), whole.items)
        )

    def _add_loop(self, node: Node, times: _Times, variables: Mapping[str, _Extent]) -> _Extent:
        looped, first, goes_on, following, returned = node.parts
        through = self.add(looped, times, variables)
        result = self.add(first, times, variables)
        item = replace(through, share=-(-through.share // max(through.items, 1)))
        inner = {**variables, node.name: item, node.result: result}
        rounds = times.rounds(through.items)
        for part in (goes_on, following):
            self.add(part, rounds, inner)
        return self.add(returned, times, inner)


def _price(function: str, parts: Sequence[_Extent], whole: _Extent, times: _Times) -> int:
    """Return the steps of a call. A function that is not known reads all of its arguments once."""
    if function == "contains" and len(parts) == 2:
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
            # Texts and lists grow when they are joined.
            return replace(whole, items=sum(part.items for part in parts), text=sum(part.text for part in parts))
        case "_&&_" | "_||_" | "!_" | "@not_strictly_false" | "size" | "type" | "@same" | "@differs" | "@within":
            return _Extent()
    return whole


def _together(parts: Sequence[_Extent]) -> _Extent:
    """Return how large several values are together."""
    return _Extent(
        sum(part.bytes for part in parts),
        sum(part.share for part in parts),
        max((part.items for part in parts), default=0),
        max((part.text for part in parts), default=0),
    )
