"""The differences between two states of a message: correct, and with bounded work."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.db.canonical_json import same_json
from approvals.text.alignment import MAX_WORDS, SHARE, WORK, Op, PairBudget, Stretch, align, text_runs
from chats.lookback import comparing
from chats.lookback.differences import MAX_CHANGES, ValueDifference, part_rows, value_changes

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 2.5]) | st.text("ab", max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text("abc", max_size=2), values, max_size=4)
texts = st.lists(st.sampled_from(["the ", "fox ", "fox", "\n", " ", "runs\n", "ä", "\r\n"]), max_size=30).map("".join)
budgets = st.sampled_from([1, 10, 100, WORK]).map(PairBudget)
said = st.builds(lambda text: {"type": "text", "text": text, "state": "done"}, texts)
calls = st.builds(
    lambda name, value, state: {"type": "tool-pay", "toolCallId": name, "input": value, "state": state},
    st.sampled_from(["c1", "c2", "c3"]),
    objects,
    st.sampled_from(["input-available", "output-available"]),
)
messages = st.lists(said | calls | st.just({"type": "step-start"}), max_size=8)


def applied(before: dict[str, Any], changes: list[ValueDifference]) -> dict[str, Any]:
    """Return the object with the changes applied."""
    after = copy.deepcopy(before)
    for change in changes:
        *way, last = change.path
        place: Any = after
        for name in way:
            place = place[name]
        if change.op == Op.REMOVED:
            # Start at the end of a list, because removing an item moves those after it.
            place[last] = REMOVED
        elif isinstance(place, list) and last == len(place):
            place.append(change.after)
        else:
            place[last] = change.after
    return cleared(after)


REMOVED = object()


def cleared(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: cleared(item) for name, item in value.items() if item is not REMOVED}
    return [cleared(item) for item in value if item is not REMOVED] if isinstance(value, list) else value


@given(objects, objects)
def test_the_changes_of_a_value_applied_to_the_left_give_the_right(before, after):
    found = applied(before, value_changes(before, after))
    assert same_json(found, after, exact=True), (found, after)


@given(objects)
def test_what_is_the_same_has_no_changes(value):
    assert value_changes(value, copy.deepcopy(value)) == []


@given(texts, texts, budgets)
def test_runs_of_a_text_contain_both_sides(before, after, budget):
    runs = text_runs(before, after, budget)
    assert "".join(run.text for run in runs if run.op != Op.ADDED) == before
    assert "".join(run.text for run in runs if run.op != Op.REMOVED) == after


@given(st.lists(st.integers(0, 3), max_size=25), st.lists(st.integers(0, 3), max_size=25), budgets)
def test_the_blocks_of_two_sequences_cover_both(left, right, budget):
    blocks = align(left, right, budget)
    assert [item for block in blocks for item in left[block.i1 : block.i2]] == left
    assert [item for block in blocks for item in right[block.j1 : block.j2]] == right
    shared = [block for block in blocks if block.op == Op.SAME]
    assert [left[b.i1 : b.i2] for b in shared] == [right[b.j1 : b.j2] for b in shared]


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=12))
def test_alignment_with_enough_steps_is_optimal(left, right):
    shared = sum(block.i2 - block.i1 for block in align(left, right, PairBudget()) if block.op == Op.SAME)
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            longest[i + 1][j + 1] = longest[i][j] + 1 if one == other else max(longest[i][j + 1], longest[i + 1][j])
    assert shared == longest[-1][-1]


@given(messages, messages, budgets)
def test_rows_contain_all_parts_of_both_messages_in_order(before, after, budget):
    rows = part_rows(before, after, budget)
    assert [row.before for row in rows if row.before is not None] == before
    assert [row.after for row in rows if row.after is not None] == after
    for row in rows:
        both = row.before is not None and row.after is not None
        assert both == (row.op in {Op.SAME, Op.CHANGED})
        assert not both or same_json(row.before, row.after, exact=True) == (row.op == Op.SAME)


@given(messages, messages)
def test_a_page_can_be_made_of_any_two_messages(before, after):
    found = comparing.compare(before, after)
    words = [part for part in (*before, *after) if part["type"] != "step-start"]
    assert (
        found.same
        == (
            [part for part in before if part["type"] != "step-start"]
            == [part for part in after if part["type"] != "step-start"]
        )
        or not words
        or json.dumps(before) != json.dumps(after)
    )


def test_texts_differ_by_word():
    assert text_runs("the quick brown fox", "the slow brown fox", PairBudget()) == [
        Stretch(Op.SAME, "the "),
        Stretch(Op.REMOVED, "quick "),
        Stretch(Op.ADDED, "slow "),
        Stretch(Op.SAME, "brown fox"),
    ]


def test_true_one_and_one_point_zero_are_different():
    assert value_changes({"a": True, "b": 1}, {"a": 1, "b": 1.0}) == [
        ValueDifference(("a",), Op.CHANGED, True, 1),
        ValueDifference(("b",), Op.CHANGED, 1, 1.0),
    ]


def test_field_with_too_many_changes_is_one_change():
    before, after = {"input": {"rows": [0] * 10_000}}, {"input": {"rows": [1] * 10_000}}
    assert value_changes(before, after) == [ValueDifference(("input",), Op.CHANGED, before["input"], after["input"])]
    few = [1] * MAX_CHANGES + [0] * 9900
    assert len(value_changes(before, {"input": {"rows": few}})) == MAX_CHANGES


def nothing_in_common(items: int, end: str) -> tuple[str, str]:
    return "".join(f"a{n}{end}" for n in range(items)), "".join(f"b{n}{end}" for n in range(items))


def test_texts_of_a_thousand_words_without_anything_in_common_are_compared_in_full():
    budget = PairBudget()
    assert [run.op for run in text_runs(*nothing_in_common(1000, " "), budget)] == [Op.REMOVED, Op.ADDED]
    assert not budget.coarse


@pytest.mark.parametrize(("items", "end"), [(MAX_WORDS // 2 + 1, " "), (MAX_WORDS + 1, " "), (MAX_WORDS + 1, "\n")])
def test_long_texts_without_anything_in_common_cost_bounded_work_and_the_page_says_so(items, end):
    before, after = nothing_in_common(items, end)
    budget = PairBudget()
    assert [run.op for run in text_runs(before, after, budget)] == [Op.REMOVED, Op.ADDED]
    assert (budget.coarse, WORK - budget.left < 3 * SHARE) == (True, True)
    parts = [[{"type": "text", "text": text} for _ in range(40)] for text in (before, after)]
    assert comparing.compare(*parts).coarse


def test_a_long_text_is_compared_by_line():
    lines = [f"Line {n} of many, many words.\n" for n in range(MAX_WORDS)]
    changed = [*lines[:700], "Another line.\n", *lines[701:]]
    runs = text_runs("".join(lines), "".join(changed), PairBudget())
    assert [(run.op, run.text) for run in runs if run.op != Op.SAME] == [
        (Op.REMOVED, lines[700]),
        (Op.ADDED, "Another line.\n"),
    ]


def test_long_unchanged_text_is_shown_at_both_ends():
    long = "word " * 1000
    before, after = [{"type": "text", "text": f"{long}old"}], [{"type": "text", "text": f"{long}new"}]
    (pair,) = comparing.compare(before, after).pairs
    (field,) = pair.fields
    first, last = field.before
    assert (first.hidden, len(first.text), len(first.rest), last.text) == (5000 - 320, 160, 160, "old")
