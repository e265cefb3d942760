"""The cost of a condition is known before it runs, and grows at least as fast as its work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.conditions.cost import Size, size_of
from approvals.policy.conditions.expressions import MAX_STEPS, Expression, StepBudget
from tests.approvals.policy.writing import facts

#: Conditions whose work grows with the data they read, or with its square.
LINEAR = [
    'input.t == "x"',
    "input.a != input.b",
    '"x" in input.l',
    'input.t in ["a", "b"]',
    'keys(input.m).exists(name, name == "x")',
    'input.t < "x"',
    'input.t.startsWith("x")',
    'input.t.contains("x")',
    "size(input.t) > 1",
    "size(input.l + input.l) > 1",
    "size(input.t + input.t) > 1",
    'input.l.all(each, each != "x")',
]
QUADRATIC = [
    "input.t.contains(input.u)",
    "input.l.exists(each, input.l.exists(other, each == other))",
    "(input.t + input.u).contains(input.u + input.t)",
]


@pytest.mark.parametrize(("condition", "power"), [*((each, 1) for each in LINEAR), *((each, 2) for each in QUADRATIC)])
def test_a_condition_costs_twice_as_much_or_more_when_what_it_reads_doubles(condition, power):
    once, twice = (Expression(condition).cost(Size(size, size // 16, size // 4)) for size in (4_096, 8_192))
    # Parts that don't grow, such as the number of operators, are small.
    assert twice >= 1.9**power * once or twice > MAX_STEPS


#: Steps over 1,024 bytes of values, with at most 16 items in a list or object and 256 bytes in a text.
PRICES = {
    "true": 2_148,
    "!input.a": 2_348,
    "input.a && input.b": 2_548,
    "input.a || input.b": 2_548,
    "input.a ? true : false": 2_548,
    "(input.a && input.b) == (input.c || !input.d)": 4_548,
    "(input.a == input.b) == (input.c in input.l)": 38_216,
    "(input.a != input.b) == (type(input.c) == int)": 30_598,
    "size(input.l) == size(input.m)": 4_560,
    "input.a > 5 && input.a <= 9 && input.b >= 1": 4_216,
    'input.t.endsWith("abc")': 2_707,
    "input.l + input.m == input.n": 29_972,
    "input.l.exists_one(each, each > 0)": 22_310,
    "input.a < 5": 2_704,
    "input.a == 1": 3_460,
    "input.a != 1": 3_460,
    "input.a == input.b": 19_432,
    "tool == agent": 19_232,
    "size(input.t) > 1": 2_804,
    'input.t.startsWith("abc")': 2_707,
    'input.t.contains("abcdefghijklmnopq")': 3_984,
    "input.t.contains(input.u)": 7_668,
    '"x" in input.l': 11_548,
    "input.a in [1, 2, 3]": 13_040,
    "keys(input.m) == []": 20_332,
    "input.l.all(each, each > 0)": 16_910,
    "input.l.all(one, input.l.all(other, one > other))": 252_622,
    'input.l[0] == "a"': 12_148,
    'input.t + input.u == "a"': 22_088,
    'string(input.a) == "a"': 12_672,
    'input.m == {"a": 1}': 12_548,
    "double(input.a) < 1.0": 3_828,
    "type(input.a) == int": 3_622,
    "!input.a == !input.b": 4_048,
    "(input.l + input.m).all(each, each > 0)": 33_306,
    "[[1, 2, 3, 4, 5], [1]].all(one, one.all(other, other > 0))": 27_198,
    f'["a", "{"b" * 40}"].exists(each, input.t.contains(each))': 8_473,
}


def test_prices_are_those_that_the_benchmark_compares_with_the_time_that_conditions_take():
    assert {text: Expression(text).cost(Size(1_024, 16, 256)) for text in PRICES} == PRICES
    loop = Expression("input.l.all(each, each > 0)")
    assert [loop.cost(Size(1_024, items, 256)) for items in (1, 2)] == [4_778, 5_734]


def test_a_search_in_a_long_text_is_priced_by_both_texts():
    long, short = {"t": "memo " * 20_000, "u": "pay"}, {"t": "memo " * 200, "u": "pay"}
    assert Expression("input.t.contains(input.u)").cost(size_of(long)) > MAX_STEPS
    assert Expression("input.t.contains(input.u)").cost(size_of(short)) < MAX_STEPS / 10
    assert Expression('input.t.contains("urgent")').cost(size_of(long)) < MAX_STEPS / 10


def test_a_search_that_would_take_too_long_does_not_run():
    found = facts({"memo": "a" * 50_000, "payee": "b" * 50_000})
    assert Expression("input.memo.contains(input.payee)").holds(found.values, found.size, StepBudget()) is None


def test_texts_that_are_joined_cost_what_they_are_together():
    size = Size(1_000, 10, 1_000)
    one, joined = "input.t.contains(input.t)", "(input.t + input.t).contains(input.t + input.t)"
    assert Expression(joined).cost(size) > 3 * Expression(one).cost(size)


def test_the_items_of_a_list_cost_what_the_list_costs_and_not_each_as_much():
    value = {"items": [{"state": "open", "price": number} for number in range(500)]}
    condition = 'input.items.all(item, item.state == "open" && item.price < 1000)'
    assert facts_hold(condition, value) is True


def test_an_item_may_still_be_as_large_as_the_list():
    value = {"l": [list(range(900))], "n": list(range(900))}
    condition = "input.l.all(each, input.n.all(number, each != input.n))"
    assert Expression(condition).cost(size_of(value)) > MAX_STEPS


def facts_hold(condition: str, value: dict) -> bool | None:
    found = facts(value)
    return Expression(condition).holds(found.values, found.size, StepBudget())


def test_letters_outside_ascii_count_as_the_bytes_that_they_take():
    assert size_of({"t": "€" * 100}).text == 400


def test_the_size_of_values_is_their_bytes_the_longest_list_or_object_and_the_longest_text():
    each = 50
    assert size_of() == Size(0, 0, 0)
    assert size_of("text") == Size(each + 4, 0, 4)
    assert size_of(1, None, True) == Size(3 * each, 0, 0)
    assert size_of({"name": "Zoë", "of": [1, 2, 3]}, ["a"]) == Size(8 * each + 4 + 4 * 3 + 2 + 1, 3, 12)
    assert size_of({"a long name": 1, "b": (2, 3)}) == Size(5 * each + 12, 2, 11)


@pytest.mark.parametrize(
    ("some", "others"), [({"a": [1, 2]}, {"b": "text"}), (["a"] * 9, "b"), ({}, {"a": {"b": "long text"}})]
)
def test_sizes_are_added_as_if_the_values_were_one(some, others):
    assert size_of(some) + size_of(others) == size_of(some, others)


@given(st.integers(0, 10_000_000), st.integers(0, 10_000), st.integers(0, 1_000_000))
def test_a_rounded_size_is_no_smaller_and_at_most_twice_as_large(all_bytes, longest, text):
    rounded = Size(all_bytes, longest, text).rounded()
    pairs = [(rounded.bytes, all_bytes), (rounded.longest, longest), (rounded.text, text)]
    assert all(exact <= near <= max(1, 2 * exact) for near, exact in pairs)
