"""Which requests of a bulk decision are unlike the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.pages.outliers import currencies_of, outliers_among
from approvals.text.secrets import masked


def reasons(*inputs: dict[str, Any]) -> list[list[str]]:
    currencies = currencies_of(inputs, [{} for _ in inputs])
    return [[outlier.reason for outlier in found] for found in outliers_among(inputs, currencies)]


def far(*values: Any, name: str = "amount") -> list[Any]:
    """Return the values that are far from the others."""
    found = reasons(*({name: value} for value in values))
    return [value for value, why in zip(values, found, strict=True) if why]


@pytest.mark.parametrize(
    ("values", "unlike"),
    [
        ([70, 71, 72, 50_000], [50_000]),
        ([70] * 20 + [50_000], [50_000]),
        (["70.00"] * 3 + ["50000.00"], ["50000.00"]),
        ([10_000] * 5 + [1], [1]),
        ([70, 72, 75, -70], [-70]),
        ([0, 0, 0, 5], [5]),
        ([100 + number for number in range(29)], []),
        ([12, 20, 25, 70, 80, 120, 300], []),
        ([250, 250, 250, 251], []),
        ([70, 50_000], []),
        ([True, True, False], []),
        (["a", "b", 3], []),
    ],
)
def test_a_number_far_from_the_others_is_an_outlier(values, unlike):
    assert far(*values) == unlike


def test_identifiers_are_far_from_nothing():
    assert far(1, 2, 3, 50_000, name="order_id") == []


def test_another_currency_is_an_outlier_and_amounts_are_compared_within_a_currency():
    inputs = [{"amount": 70 + number, "currency": "EUR"} for number in range(5)]
    found = reasons(*inputs, {"amount": 9_000, "currency": "JPY"}, {"amount": 71})
    assert found == [
        [],
        [],
        [],
        [],
        [],
        ["another currency: JPY, where most have EUR"],
        ["another currency: none, where most have EUR"],
    ]


def test_hidden_and_long_currencies_are_told_apart_and_not_shown():
    secrets = [masked({"currency_code": code}, ["/currency_code"]) for code in ("first", "second", "first")]
    one, other, same = currencies_of(secrets, [{}] * 3)
    assert (one == same, one == other, "first" in one) == (True, False, False)
    one, other = currencies_of([{"currency": "x" * 30 + end} for end in "ab"], [{}] * 2)
    assert (len(one) < 30, one == other) == (True, False)
    assert currencies_of([{"currency": "E\u200bUR"}], [{}]) == ["E⟨U+200B⟩UR"]


def test_where_no_currency_is_usual_none_is_unlike():
    assert reasons({"currency": "EUR"}, {"currency": "USD"}) == [[], []]


@given(
    st.lists(
        st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False, width=32),
        min_size=1,
        max_size=30,
    )
)
def test_at_most_half_of_the_numbers_are_far_from_the_others(values):
    assert len(far(*values)) * 2 <= len(values)
