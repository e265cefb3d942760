"""The tree of a condition is read and written as the library stores it; another version of it would fail here."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from approvals.policy.conditions.expressions import _environment
from approvals.policy.conditions.tree import ExpressionKind, Node, read_tree, rewritten


def stored(text: str) -> bytes:
    serialized: bytes = _environment().compile(text, disable_check=True).serialize()
    return serialized


def never(_node: Node) -> bool:
    return False


def name(text: str) -> Node:
    return Node(ExpressionKind.NAME, text)


def test_the_version_of_the_library_is_the_one_whose_stored_form_is_known():
    assert version("cel-expr-python") == "0.1.3"


def test_a_tree_has_every_part_of_a_condition():
    text = 'has(input.a) && input.b[0] == "text" && !({"k": input}.k in [1, tool])'
    first, second, third = _operands(read_tree(stored(text)))
    assert first == Node(ExpressionKind.MEMBER, "a", (name("input"),))
    index = Node(
        ExpressionKind.CALL, "_[_]", (Node(ExpressionKind.MEMBER, "b", (name("input"),)), Node(ExpressionKind.CONSTANT))
    )
    assert second == Node(ExpressionKind.CALL, "_==_", (index, Node(ExpressionKind.CONSTANT, length=4)))
    member = Node(
        ExpressionKind.MEMBER,
        "k",
        (Node(ExpressionKind.OBJECT, parts=(Node(ExpressionKind.CONSTANT, length=1), name("input"))),),
    )
    items = Node(ExpressionKind.LIST, parts=(Node(ExpressionKind.CONSTANT), name("tool")))
    assert third == Node(ExpressionKind.CALL, "!_", (Node(ExpressionKind.CALL, "@in", (member, items)),))


def _operands(node: Node) -> list[Node]:
    if node.name != "_&&_":
        return [node]
    return [operand for part in node.parts for operand in _operands(part)]


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("null", Node(ExpressionKind.CONSTANT, "null")),
        ("true", Node(ExpressionKind.CONSTANT)),
        ('b"bytes"', Node(ExpressionKind.CONSTANT, length=5)),
        ('"zwölf"', Node(ExpressionKind.CONSTANT, length=6)),
    ],
)
def test_a_constant_has_its_length_in_bytes_and_null_its_name(text, constant):
    assert read_tree(stored(text)) == constant


def test_a_loop_has_its_list_its_variable_and_its_result():
    loop = read_tree(stored("input.l.all(each, each > 0)"))
    assert (loop.kind, loop.name, loop.result, len(loop.parts)) == (ExpressionKind.LOOP, "each", "@result", 5)
    assert loop.parts[0] == Node(ExpressionKind.MEMBER, "l", (name("input"),))


@pytest.mark.parametrize(
    "text",
    [
        'input.a == 1 && has(input.b.c) || !(tool in ["a", "b"])',
        "input.l.exists(one, input.m.all(two, one < two && -9007199254740993 < 1))",
        'b"bytes" == bytes(tool) ? 1.5 > 2u : duration("1s") < duration("2s") && null != context',
        '{"a": [true, false], "b": {}}.a[0]',
        *(f'tool == "{"x" * length}"' for length in (127, 128)),
    ],
)
def test_what_nothing_is_changed_in_is_written_as_it_was(text):
    before = stored(text)
    assert rewritten(before, function=lambda call: call.name, in_order=never, needs_list=never) == before


def test_calls_can_become_others_and_loops_can_need_a_list():
    before = stored("input.l.all(each, each == tool)")
    after = rewritten(
        before,
        function=lambda call: call.name.replace("_==_", "@same"),
        in_order=never,
        needs_list=lambda _looped: True,
    )
    joined = Node(
        ExpressionKind.CALL, "_+_", (Node(ExpressionKind.MEMBER, "l", (name("input"),)), Node(ExpressionKind.LIST))
    )
    assert read_tree(after).parts[0] == joined
    assert "@same" in {call.name for call in _calls(read_tree(after))}
    assert "_==_" not in {call.name for call in _calls(read_tree(after))}


@pytest.mark.parametrize(
    ("before", "after"), [("tool == agent", "tool <= agent && tool >= agent"), ("hour != 1", "hour < 1 || hour > 1")]
)
def test_an_equality_can_be_in_words_of_order(before, after):
    ordered = rewritten(
        stored(before),
        function=lambda call: call.name,
        in_order=lambda call: call.name in {"_==_", "_!=_"},
        needs_list=never,
    )
    assert read_tree(ordered) == read_tree(stored(after))


def _calls(node: Node) -> list[Node]:
    below = [call for part in node.parts for call in _calls(part)]
    return [node, *below] if node.kind == ExpressionKind.CALL else below


def test_a_stored_form_with_a_field_of_an_unknown_kind_is_refused():
    four_bytes = b"\x0d\x00\x00\x00\x00"
    with pytest.raises(ValueError, match="a field of an unknown kind"):
        read_tree(four_bytes)
