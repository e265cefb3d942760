"""The cost of answers, by the administrator's prices."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.models import ModelPrice
from chats.queries.usage import Prices, Tokens, Usage, tokens_of, total

DAY = datetime(2026, 11, 1, tzinfo=UTC)
MILLION = {"input_tokens": 1_000_000}


def price(prefix, amount, *, valid_from=date(2026, 1, 1), above=0, currency="USD") -> ModelPrice:
    """Return a price of so much for everything."""
    each = dict.fromkeys(("input", "cache_write", "cache_read", "output"), Decimal(amount))
    return ModelPrice(prefix=prefix, valid_from=valid_from, above=above, currency=currency, **each)


def replaced(row: ModelPrice, **values) -> ModelPrice:
    for name, value in values.items():
        setattr(row, name, value)
    return row


def cost(rows, model="claude-opus-5-5", usage=MILLION, when=DAY):
    return dict(Prices(rows).usage(model, usage, when).costs)


def test_each_kind_of_token_has_its_own_price():
    row = ModelPrice(
        prefix="m",
        valid_from=DAY.date(),
        input=Decimal(1),
        cache_write=Decimal(2),
        cache_read=Decimal(4),
        output=Decimal(8),
    )
    usage = {
        "input_tokens": 1_000_000,
        "cache_creation_input_tokens": 100_000,
        "cache_read_input_tokens": 10_000,
        "output_tokens": 1_000,
        "thinking_tokens": 900,
    }
    found = Prices([row]).usage("m", usage, DAY)
    assert found.tokens == Tokens(1_000_000, 100_000, 10_000, 1_000, 900)
    assert (found.tokens.read, dict(found.costs)) == (1_110_000, {"USD": Decimal("1.248")})


def test_writes_for_an_hour_searches_and_the_service_tier_have_their_own_prices():
    row = replaced(price("m", 1), cache_write_hour=Decimal(2), searches=Decimal(10))
    usage = {
        "cache_creation_input_tokens": 1_000_000,
        "cache_creation_1h_input_tokens": 400_000,
        "web_search_requests": 3,
    }
    assert cost([row], "m", usage) == {"USD": Decimal("1.43")}
    assert cost([price("m", 1)], "m", usage) == {"USD": 1}
    tier = replaced(price("m", 3), service_tier="priority")
    found = [
        dict(Prices([row, tier]).usage("m", MILLION, DAY, {"service_tier": name}).costs)
        for name in ("priority", "standard")
    ]
    assert found == [{"USD": 3}, {"USD": 1}]


def test_the_model_that_answered_is_priced_before_the_one_that_was_asked():
    prices = Prices([price("alias", 1), price("real", 5)])
    found = [
        dict(prices.usage("alias", MILLION, DAY, {"model": name}).costs) for name in ("real-2026", "gateway/x", "")
    ]
    assert found == [{"USD": 5}, {"USD": 1}, {"USD": 1}]
    assert prices.usage("unknown", MILLION, DAY, {"model": "gateway/x"}).unpriced == {"gateway/x"}


def test_the_longest_prefix_counts():
    rows = [price("claude-opus-5", 5), price("claude-opus-5-5", 4), price("claude", 9)]
    assert cost(rows) == {"USD": 4}
    assert cost(rows, "claude-opus-5") == {"USD": 5}


def test_the_latest_price_that_is_valid_counts_and_later_ones_do_not():
    rows = [price("m", 1), price("m", 2, valid_from=DAY.date()), price("m", 3, valid_from=date(2026, 11, 2))]
    assert cost(rows, "m") == {"USD": 2}


def test_a_long_prompt_may_have_another_price():
    rows = [price("m", 1), price("m", 5, above=100_000)]
    assert cost(rows, "m", {"input_tokens": 99_999}) == {"USD": Decimal("0.099999")}
    assert cost(rows, "m", {"input_tokens": 1, "cache_read_input_tokens": 100_000}) == {"USD": Decimal("0.500005")}


@pytest.mark.parametrize("model", ["other", "", "Claude-opus-5-5"])
def test_a_model_without_a_price_has_no_cost_and_is_named(model):
    found = Prices([price("claude", 1), price("", 1)]).usage(model, MILLION, DAY)
    assert (dict(found.costs), found.unpriced) == ({}, {model or "?"})


def test_a_price_of_tomorrow_is_no_price_yet():
    found = Prices([price("m", 1, valid_from=date(2026, 11, 2))]).usage("m", MILLION, DAY)
    assert (dict(found.costs), found.unpriced) == ({}, {"m"})


@given(st.dictionaries(st.text(max_size=20), st.one_of(st.integers(), st.text(), st.none(), st.floats())))
def test_what_is_no_count_is_no_token(usage):
    assert tokens_of(usage) == Tokens()


def test_strange_counts_are_no_tokens():
    assert tokens_of({"input_tokens": -1, "output_tokens": "5", "cache_read_input_tokens": None}) == Tokens()


def test_costs_in_different_currencies_are_not_added():
    rows = Prices([price("a", 1), price("b", 2, currency="EUR")])
    found = total([rows.usage(name, MILLION, DAY) for name in ("a", "b", "a", "c")])
    assert found == Usage(Tokens(4_000_000), {"USD": Decimal(2), "EUR": Decimal(2)}, frozenset({"c"}))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("model", "when", "dollars"),
    [
        ("claude-opus-5-5", DAY, "4"),
        ("claude-opus-4-1-20250805", DAY, "15"),
        ("claude-opus-4-5-20251101", DAY, "5"),
        ("claude-sonnet-4-6", DAY, "3"),
        ("claude-haiku-4-5", DAY, "1"),
        ("claude-haiku-5-5", DAY, "0.50"),
    ],
)
def test_an_installation_begins_with_the_published_prices(model, when, dollars):
    assert dict(Prices.read().usage(model, MILLION, when).costs) == {"USD": Decimal(dollars)}


@pytest.mark.django_db
def test_the_published_price_of_a_cache_read_changed_in_october():
    usage, before = {"cache_read_input_tokens": 1_000_000}, datetime(2026, 10, 6, tzinfo=UTC)
    costs = [Prices.read().usage("claude-sonnet-5-5", usage, when).costs["USD"] for when in (before, DAY)]
    assert costs == [Decimal("0.20"), Decimal("0.10")]


@pytest.mark.django_db
def test_an_installation_knows_the_published_prices_of_writes_for_an_hour_and_of_searches():
    usage = {
        "cache_creation_input_tokens": 1_000_000,
        "cache_creation_1h_input_tokens": 1_000_000,
        "web_search_requests": 1000,
    }
    assert dict(Prices.read().usage("claude-opus-5-5", usage, DAY).costs) == {"USD": Decimal(18)}
