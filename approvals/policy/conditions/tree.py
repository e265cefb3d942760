"""The syntax tree of a CEL condition, in the library's stored form.

That form is the protocol buffer `cel.expr.ParsedExpr`, whose field numbers are part of the CEL specification. The library offers
no other access to its tree and does not include the message schema, so the fields are read and written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class ExpressionKind(IntEnum):
    """Kinds of expressions, by field number."""

    CONSTANT = 3
    NAME = 4
    MEMBER = 5
    CALL = 6
    LIST = 7
    OBJECT = 8
    LOOP = 9


@dataclass(frozen=True, slots=True)
class Node:
    """An expression. `name` is that of a variable, member or function, or of a loop's variable.

    The parts of a call are its target, if any, and its arguments. Those of a loop are the list, the initial accumulator, the loop
    condition, the next accumulator, and the result; `result` is the name of the accumulator. A constant has the `length` of its
    text; a null constant is named `null`.
    """

    kind: ExpressionKind
    name: str = ""
    parts: tuple[Node, ...] = ()
    result: str = ""
    length: int = 0


class _Field(NamedTuple):
    number: int
    wire: int
    value: int | bytes


_EXPRESSION = "expression"
_ENTRY = "entry"
#: Messages that contain expressions, with the kinds of their fields.
_MESSAGES: Mapping[str | ExpressionKind, Mapping[int, str | ExpressionKind]] = {
    _EXPRESSION: {
        kind: kind
        for kind in ExpressionKind
        if kind not in {ExpressionKind.CONSTANT, ExpressionKind.NAME}
    },
    ExpressionKind.MEMBER: {1: _EXPRESSION},
    ExpressionKind.CALL: {1: _EXPRESSION, 3: _EXPRESSION},
    ExpressionKind.LIST: {1: _EXPRESSION},
    ExpressionKind.OBJECT: {2: _ENTRY},
    _ENTRY: {3: _EXPRESSION, 4: _EXPRESSION},
    ExpressionKind.LOOP: {
        2: _EXPRESSION,
        4: _EXPRESSION,
        5: _EXPRESSION,
        6: _EXPRESSION,
        7: _EXPRESSION,
    },
}
#: Fields with the name of a node, and other fields that are read or written.
_NAME_FIELD = {
    ExpressionKind.NAME: 1,
    ExpressionKind.MEMBER: 2,
    ExpressionKind.CALL: 2,
    ExpressionKind.LOOP: 1,
}
_RANGE = 2
_RESULT = 3
_ARGUMENT = 3
_NULL = 1
_TEXT = 6
_OCTETS = 7
#: The stored tree: in an envelope with its type, next to the source positions.
_ENVELOPED = 2
_TREE = 2
_EMPTY_LIST = b"\x3a\x00"
#: Equality expressed through order, which is undefined between values of different types.
_IN_ORDER = {"_==_": ("_&&_", "_<=_", "_>=_"), "_!=_": ("_||_", "_<_", "_>_")}


def read_tree(stored: bytes) -> Node:
    """Return the tree of a stored expression."""
    return _node(_bytes_at(_bytes_at(stored, _ENVELOPED), _TREE))


def rewritten(
    stored: bytes,
    *,
    function: Callable[[Node], str],
    in_order: Callable[[Node], bool],
    needs_list: Callable[[Node], bool],
) -> bytes:
    """Return a stored expression with each call renamed by `function`.

    Equalities selected by `in_order` become order comparisons: neither less nor greater. Loops over expressions selected by
    `needs_list` iterate over the expression joined with an empty list, which is an error for all but a list.
    """

    def of(data: bytes, message: str | ExpressionKind) -> bytes:
        inner = _MESSAGES[message]
        call = (
            _node_of(ExpressionKind.CALL, data)
            if message == ExpressionKind.CALL
            else None
        )
        fields = []
        for each in _fields(data):
            value = each.value
            if each.number in inner and isinstance(value, bytes):
                is_range = message == ExpressionKind.LOOP and each.number == _RANGE
                joined = is_range and needs_list(_node(value))
                value = of(value, inner[each.number])
                value = _joined_with_empty_list(value) if joined else value
            elif call is not None and each.number == _NAME_FIELD[ExpressionKind.CALL]:
                value = function(call).encode()
            fields.append(_Field(each.number, each.wire, value))
        if call is not None and in_order(call):
            return _ordered(
                call.name, [each.value for each in fields if each.number == _ARGUMENT]
            )
        return _packed(fields)

    parsed = _replaced(
        _bytes_at(stored, _ENVELOPED), _TREE, lambda tree: of(tree, _EXPRESSION)
    )
    return _replaced(stored, _ENVELOPED, lambda _parsed: parsed)


def _node(data: bytes) -> Node:
    kinds = {int(kind) for kind in ExpressionKind}
    number, content = next(
        (each.number, each.value) for each in _fields(data) if each.number in kinds
    )
    assert isinstance(content, bytes)
    return _node_of(ExpressionKind(number), content)


def _node_of(kind: ExpressionKind, data: bytes) -> Node:
    if kind == ExpressionKind.CONSTANT:
        null = any(each.number == _NULL for each in _fields(data))
        return Node(
            kind,
            "null" if null else "",
            length=sum(len(_bytes_at(data, number)) for number in (_TEXT, _OCTETS)),
        )
    name = _bytes_at(data, _NAME_FIELD[kind]).decode() if kind in _NAME_FIELD else ""
    result = _bytes_at(data, _RESULT).decode() if kind == ExpressionKind.LOOP else ""
    return Node(kind, name, tuple(_parts(data, kind)), result)


def _parts(data: bytes, message: str | ExpressionKind) -> Iterator[Node]:
    inner = _MESSAGES.get(message, {})
    for each in _fields(data):
        if each.number not in inner or not isinstance(each.value, bytes):
            continue
        if inner[each.number] == _ENTRY:
            yield from _parts(each.value, _ENTRY)
        else:
            yield _node(each.value)


def _joined_with_empty_list(expression: bytes) -> bytes:
    """Return the expression `… + []`."""
    return _expression(_call("_+_", [expression, _EMPTY_LIST]))


def _ordered(equality: str, arguments: Sequence[int | bytes]) -> bytes:
    together, *orders = _IN_ORDER[equality]
    return _call(together, [_expression(_call(order, arguments)) for order in orders])


def _call(function: str, arguments: Sequence[int | bytes]) -> bytes:
    name = _Field(_NAME_FIELD[ExpressionKind.CALL], _BYTES, function.encode())
    return _packed([name, *(_Field(_ARGUMENT, _BYTES, each) for each in arguments)])


def _expression(call: bytes) -> bytes:
    return _packed([_Field(ExpressionKind.CALL, _BYTES, call)])


#: Wire types of fields: a number, eight bytes, or length-prefixed bytes.
_NUMBER = 0
_EIGHT = 1
_BYTES = 2


def _fields(data: bytes) -> Iterator[_Field]:
    place = 0
    while place < len(data):
        tag, place = _number_at(data, place)
        number = tag >> 3
        wire = tag & 7
        if wire == _NUMBER:
            value, place = _number_at(data, place)
            yield _Field(number, wire, value)
            continue
        if wire not in {_EIGHT, _BYTES}:
            raise ValueError(
                "The stored form of a condition has a field of an unknown kind."
            )
        size, place = _number_at(data, place) if wire == _BYTES else (8, place)
        yield _Field(number, wire, data[place : place + size])
        place += size


def _number_at(data: bytes, place: int) -> tuple[int, int]:
    """Return the varint at a position (seven bits per byte), and the position after it."""
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7


def _packed(fields: Iterable[_Field]) -> bytes:
    packed = bytearray()
    for number, wire, value in fields:
        packed += _number(number << 3 | wire)
        if isinstance(value, int):
            packed += _number(value)
        else:
            packed += (_number(len(value)) if wire == _BYTES else b"") + value
    return bytes(packed)


def _number(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def _bytes_at(data: bytes, number: int) -> bytes:
    """Return the value of a text or message field; empty if it is absent."""
    return next(
        (
            each.value
            for each in _fields(data)
            if each.number == number and isinstance(each.value, bytes)
        ),
        b"",
    )


def _replaced(data: bytes, number: int, change: Callable[[bytes], bytes]) -> bytes:
    fields = [
        _Field(each.number, each.wire, change(each.value))
        if each.number == number and isinstance(each.value, bytes)
        else each
        for each in _fields(data)
    ]
    return _packed(fields)
