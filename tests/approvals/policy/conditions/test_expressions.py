"""Conditions in CEL are checked when they are saved, bounded when they run, and an error is neither true nor false."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.conditions.cost import Size, size_of
from approvals.policy.conditions.expressions import MAX_LENGTH, Expression, InvalidExpression, StepBudget
from tests.approvals.policy.writing import facts


def holds(text: str, value=None, **more) -> bool | None:
    found = facts(value, **more)
    return Expression(text).holds(found.values_with_requester, found.size_with_requester, StepBudget())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("tol == 1", "line 1, column 1: undeclared reference to 'tol'"),
        ("tool == 1", "line 1, column 6: found no matching overload for '_==_' applied to '(string, int)'"),
        (
            "1 == 1.0",
            "line 1, column 3: found no matching overload for '_==_' applied to '(int, double)'. Write both numbers with a "
            "decimal point, as in 1.0, or neither; double(…) converts a whole number",
        ),
        (
            "double(input.amount) > 5",
            "line 1, column 22: found no matching overload for '_>_' applied to '(double, int)'. W",
        ),
        ('tool == "a" &&\n  tol == 1', "line 2, column 3: undeclared reference to 'tol'"),
        ("tool", "must be true or false; compare a value, as in input.urgent == true"),
        ("input.urgent", "must be true or false; compare a value, as in input.urgent == true"),
        ("", f"must be text of 1 to {MAX_LENGTH} characters"),
        ("true || " * 300 + "true", f"must be text of 1 to {MAX_LENGTH} characters"),
        ("(" * 200 + "true" + ")" * 200, "is too deeply nested, or cannot be read"),
        ("input" + ".a" * 60 + " == 1", "is too deeply nested, or cannot be read"),
        ('tool.matches("(a+)+$")', "line 1, column 13: undeclared reference to 'matches'"),
        ('matches(tool, "a")', "line 1, column 8: undeclared reference to 'matches'"),
        ("input.items.map(i, i.price) == []", "line 1, column 17: undeclared reference to 'i'"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text, fault):
    with pytest.raises(InvalidExpression) as refusal:
        Expression(text)
    assert str(refusal.value).startswith(fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("tol == 1", "line 1, column 1: undeclared reference to 'tol'"),
        ("x" * 400 + " == 1", f"line 1, column 1: undeclared reference to '{'x' * 275}"),
        ("true" + " " * (MAX_LENGTH - 3), f"must be text of 1 to {MAX_LENGTH} characters"),
    ],
)
def test_a_fault_is_short_and_says_nothing_of_the_library(text, fault):
    with pytest.raises(InvalidExpression) as refusal:
        Expression(text)
    assert str(refusal.value) == fault


def test_a_condition_of_as_many_characters_as_are_allowed_is_read():
    assert holds("true" + " " * (MAX_LENGTH - 4)) is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('tool == "refund" && input.amount < 500', {"amount": 250}),
        ('tool == "ReFund" && agent.startsWith("BILL")', {}),
        ("input.amount < 500", {"amount": 250.5}),
        ("input.amount == 250.0", {"amount": 250}),
        ('has(input.to) && input.to.all(a, a.endsWith("@ourcompany.com"))', {"to": ["bob@ourcompany.com"]}),
        ('"support" in requester.teams && requester.name == "alice"', {}),
        ("hour == 14 && weekday == 2", {}),
        ('now > timestamp("2026-11-24T00:00:00Z")', {}),
        ("!has(input.discount)", {}),
        ("input.note == null", {"note": None}),
        ('context.ticket.startsWith("T-")', {}),
        ("input.note != 1 || input.amount == 1", {"note": "x", "amount": 1}),
        ('type(input.note) == null_type || input.note != "x"', {"note": None}),
        ("type(input.amount) in [int, double]", {"amount": 5}),
        ('input.to == ["bob"] && input.card == {"a": [1.0]}', {"to": ["bob"], "card": {"a": [1]}}),
        ('input.to != ["bob", "eve"]', {"to": [1]}),
        ('keys(input.card).all(name, name in ["a"]) && "note" in input', {"card": {"a": 1}, "note": 1}),
        ('input.all(name, name in ["a"])', {"a": 1}),
        ('tool in {"refund": 1} && {"a": 1}.all(name, name == "a")', {}),
        # True even if all other values are missing.
        ('input.missing == 1 || tool == "refund"', {}),
    ],
)
def test_true_is_true(text, value):
    assert holds(text, value, context={"ticket": "T-1"}) is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("input.missing == 1", {}),
        ("input.a.b.c == 1", {"a": {}}),
        ("input.amount < 500", {"amount": "250"}),
        ("input.amount < 500", {"amount": None}),
        ("input.amount < 500", {"amount": True}),
        ("100 / input.amount > 1", {"amount": 0}),
        ("input.amount * 9007199254740991 > 0", {"amount": 9007199254740991}),
        ("input.items.all(i, i > 0)", {"items": "text"}),
        ("context.ticket == 1", {}),
        # Values of different types cannot be compared.
        ("input.amount == 5", {"amount": "5"}),
        ("input.amount != 5", {"amount": "5"}),
        ("!(input.amount == 5)", {"amount": None}),
        ("input.note != null", {"note": "x"}),
        ("input.amount in [1, 2]", {"amount": "1"}),
        ("!(input.amount in [1, 2])", {"amount": [1]}),
        ('"bob" in input.to', {"to": ["eve", 1]}),
        ('input.to == ["bob"]', {"to": [1]}),
        ('input.card == {"a": 1}', {"card": {"a": "1"}}),
        ("input.a == input.b", {"a": 1, "b": True}),
        # A member may be called like the function that tests types.
        ('input.type == ["bob"]', {"type": [1]}),
        # An object is no list of its names.
        ('input.to.all(each, each == "bob")', {"to": {"bob": "eve"}}),
        ('"bob" in input.to', {"to": {"bob": 1}}),
        ('"bob" in input.input', {"input": {"bob": 1}}),
        ('context.exists(each, each == "ticket")', {}),
        ("keys(input.to).all(name, true)", {"to": ["bob"]}),
        ("input.items.all(a, input.items.all(b, input.items.all(c, a + b + c >= 0)))", {"items": list(range(60))}),
    ],
)
def test_what_is_missing_wrong_or_too_costly_is_neither_true_nor_false(text, value):
    assert holds(text, value) is None


@pytest.mark.parametrize(
    "text",
    [
        """input.n.all(a, '")' != "" && input.n.all(b, '")' != "" && input.n.all(c, a + b + c >= 0)))""",
        """input.n.all(a, "\\")" != "" && input.n.all(b, "\\")" != "" && input.n.all(c, a + b + c >= 0)))""",
        'input.n.all(a, // ")))\n input.n.all(b, // "\n input.n.all(c, a + b + c >= 0)))',
        'input.n.all(a, """)""" != "" && input.n.all(b, """)""" != "" && input.n.all(c, a + b + c >= 0)))',
    ],
)
def test_parentheses_in_texts_hide_no_loop(text):
    assert holds(text, {"n": list(range(60))}) is None


def test_loops_after_one_another_cost_less_than_loops_within_one_another():
    value = {"items": list(range(60))}
    assert holds(" && ".join(['input.items.all(a, a >= 0 && ")" != "(")'] * 8), value) is True
    assert (
        holds('input.items.all(a, ")" != "" && input.items.all(b, input.items.all(c, a + b + c >= 0)))', value) is None
    )


LONG = "ab" * 240_000
LONG_LIST = list(range(300))
HOSTILE = [
    ("input.t.contains('" + "a" * 900 + "c')", {"t": "a" * 490_000}),
    (" && ".join(["input.t.contains('aaaaaaab')"] * 40), {"t": "a" * 490_000}),
    ("input.n.all(x, !input.t.contains('" + "a" * 40 + "b'))", {"n": list(range(1000)), "t": "a" * 100_000}),
    ("input.n.all(x, input.n.all(y, input.n.all(z, input.n.all(w, x + y + z + w >= 0))))", {"n": list(range(60))}),
    ("input.n.all(x, input == input)", {"n": list(range(1000)), "t": LONG}),
    ("input.n.all(x, [input, input, input] == [input, input, input])", {"n": list(range(1000)), "t": LONG}),
    ("input.n.all(x, input.t + input.t + input.t != '')", {"n": list(range(9_000)), "t": LONG}),
    ("[" + "1," * 700 + "1].all(x, input.t + input.t != input.t + 'x')", {"t": LONG}),
    ("input.m.all(k, input.m[k] != input.t)", {"m": {str(n): LONG[:50] for n in range(9_000)}, "t": LONG}),
    ("input.n.exists_one(x, string(x) + input.t == input.t)", {"n": list(range(5_000)), "t": LONG}),
    ("input.n.all //\n(x, !input.t.contains // ,\n('" + "a" * 40 + "b'))", {"n": list(range(9_000)), "t": LONG}),
    ("input.n.// all(\nexists//\n(x, input // == input\n== input)", {"n": list(range(9_000)), "t": LONG}),
    ("true " + "/" * 1_900, {}),
    (" && ".join(["input.n.all(x, x >= 0)"] * 70), {"n": list(range(5_000))}),
    (
        'input.n.all(x, ")" != "" && input.n.all(y, ")" != "" && input.n.all(z, x + y + z >= 0)))',
        {"n": list(range(300))},
    ),
    ("input.n.all(x, [input.t].all(y, [input.t].all(z, y + z != input.t)))", {"n": list(range(500)), "t": LONG}),
    # Looks like the end of a text without being one, or the reverse.
    (
        r"""input.n.all(x, r"\\" != ")" && input.n.all(y, r"\\" != ")" && input.n.all(z, x + y + z >= 0)))""",
        {"n": LONG_LIST},
    ),
    (
        r"""input.n.all(x, "\")" != "" && input.n.all(y, "\")" != "" && input.n.all(z, x + y + z >= 0)))""",
        {"n": LONG_LIST},
    ),
    ('input.n.all(x, // ")\ninput.n.all(y, // ")\ninput.n.all(z, x + y + z >= 0)))', {"n": LONG_LIST}),
    ('input.n.all(x, """)""" != "" && input.n.all(y, """)""" != "" && input.n.all(z, x + y >= z)))', {"n": LONG_LIST}),
    ("!" * 1_900 + "true", {}),
    ("true" + " && true" * 240, {}),
    ("size(input) == 0 || " * 70 + "size(input.t) > 1", {"t": LONG, "n": list(range(9_000))}),
    ("input" + ".a" * 25 + " == 1", {"a": {"a": {"a": 1}}}),
    ('input.t == "\\u0000\\U0001F600"', {"t": LONG}),
    ("timestamp(input.t) < now && duration(input.t) < duration('1s') && double(input.t) > 1.0", {"t": "9" * 490_000}),
]


@pytest.mark.parametrize(("text", "value"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_condition_ends_within_fifty_milliseconds(text, value):
    expression, found = Expression(text), facts(value)
    best = 1.0
    for _ in range(3):
        begun = time.thread_time()
        expression.holds(found.values, size_of(value), StepBudget())
        best = min(best, time.thread_time() - begun)
    assert best < 0.05


@pytest.mark.parametrize("gap", [" ", "\t\n", "//\n", '// a comment (\n // and "another\n'])
def test_what_stands_between_a_loop_and_its_brackets_makes_it_no_cheaper(gap):
    budgets = [StepBudget(), StepBudget()]
    for between, budget in zip(("", gap), budgets, strict=True):
        text = f"input.n.{between}all{between}(x, !input.t.contains{between}('b'))"
        assert Expression(text).holds(facts({"n": [1, 2], "t": "a"}).values, Size(100, 2, 10), budget) is True
    assert budgets[1].left <= budgets[0].left


def test_conditions_of_one_request_share_their_budget():
    expression, found, budget = Expression("input.t.contains('b')"), facts({"t": "a" * 100_000}), StepBudget()
    found_values = [expression.holds(found.values, found.size, budget) for _ in range(200)]
    spent = found_values.index(None)
    assert 0 < spent < 200
    assert found_values == [False] * spent + [None] * (200 - spent)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abxyz"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abxyz"), JSON, max_size=4), JSON)
def test_a_comparison_is_what_python_says_of_numbers_and_nothing_of_anything_else(value, context):
    amount = value.get("a")
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    assert holds("input.a < 500", value, context=context) == ((amount < 500) if is_number else None)
    assert holds("has(input.a) && has(input.b)", value, context=context) == ({"a", "b"} <= value.keys())


#: Calculations, with the amounts of which they are errors: 2 and 2.5 are numbers of different types.
MIXING = {
    "input.amount * 2 > 1": [2.5],
    "input.amount * 2.0 > 1.0": [2],
    "input.amount - 1 > 0": [2.5],
    "1.0 + input.amount > 0.0": [2],
    "input.amount / 2 > 0": [2.5],
    "input.amount % 2 == 0": [2, 2.5],
    "input.items[0] * 2 > 1": [2.5],
    "input.items.all(item, item * 2 > 1)": [2.5],
    "input.amount + input.fee > 0": [2.5],
    'size("abc") * input.amount > 1': [2.5],
    "double(input.amount) * 2.0 > 1.0": [],
    "double(input.amount) + double(input.fee) > 1.0": [],
    "int(input.amount) * 2 > 1": [],
    "hour * 2 > 1": [],
    "weekday * 2 > 1": [],
    'tool + agent + kind + source + server + priority == "refund"': [],
    'now - duration("1h") < now': [],
    "input.items.exists_one(item, item == 1)": [],
    "size(input.items) * 2 > 1": [],
    'tool + "-" + agent == "refund-billing"': [],
    'input.first + " " + input.last == "Ada L"': [],
}


def test_calculating_with_a_number_as_it_is_sent_is_told_from_calculating_with_one_of_a_known_type():
    warned = {text for text in MIXING if Expression(text).mixes_numbers}
    assert warned == {text for text, errors in MIXING.items() if errors}


@pytest.mark.parametrize("text", [text for text, errors in MIXING.items() if errors and "%" not in text])
def test_what_is_warned_of_is_an_error_of_a_number_of_the_other_type(text):
    found = [
        amount
        for amount in (2, 2.5)
        if holds(text, {"amount": amount, "fee": 1, "items": [amount], "first": "Ada", "last": "L"}) is None
    ]
    assert found == MIXING[text]
