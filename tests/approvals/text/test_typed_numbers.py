"""A typed number is read by the separators of the page, and no text is one number here and another one there."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils.formats import number_format
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from approvals.text.numbers import AmbiguousNumber, as_typed, typed_number

AMBIGUOUS = "ambiguous"
LANGUAGES = ("en", "de", "de-ch", "fr", "it", "pl", "es", "pt-br")
TEXTS = st.text("0123456789.,-' \u2019\u00a0\u202fe", max_size=14)


def read(text: str, language: str) -> str | None:
    with override(language):
        try:
            return typed_number(text)
        except AmbiguousNumber:
            return AMBIGUOUS


@pytest.mark.parametrize(
    ("text", "english", "german"),
    [
        ("1.500", "1.500", AMBIGUOUS),
        ("12.000", "12.000", AMBIGUOUS),
        ("-1.500", "-1.500", AMBIGUOUS),
        ("1,500", AMBIGUOUS, "1.500"),
        ("1.500,00", "1500.00", "1500.00"),
        ("1,500.00", "1500.00", "1500.00"),
        ("1.234.567", "1234567", "1234567"),
        ("1,234,567.8", "1234567.8", "1234567.8"),
        ("1500,5", "1500.5", "1500.5"),
        ("1500.5", "1500.5", "1500.5"),
        ("0.125", "0.125", "0.125"),
        ("0,125", "0.125", "0.125"),
        (" 12 ", "12", "12"),
        ("1e3", "1e3", "1e3"),
        ("1.234.567.8", None, None),
        ("1.23.456", None, None),
        ("1,00,000", None, None),
        ("007", None, None),
        ("1.", None, None),
        ("\u0661", None, None),
        ("1_000", None, None),
        ("", None, None),
    ],
)
def test_a_number_is_read_as_the_page_shows_numbers_or_refused_as_ambiguous(text, english, german):
    assert (read(text, "en"), read(text, "de")) == (english, german)


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u2009", "\u202f", "'", "\u2019"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_spaces_and_apostrophes_group_digits_as_in_france_and_switzerland(blank, language):
    texts = (f"1{blank}500", f"1{blank}234{blank}567.50", f"1{blank}234{blank}567,50")
    assert [read(text, language) for text in texts] == ["1500", "1234567.50", "1234567.50"]


@given(TEXTS)
def test_no_text_is_one_number_in_one_language_and_another_in_the_next(text):
    readings = {read(text, language) for language in LANGUAGES} - {AMBIGUOUS}
    assert len(readings) <= 1


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=3))
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_field_shows_is_read_as_what_it_was(language, number):
    text = f"{number:f}"
    with override(language):
        assert typed_number(as_typed(text)) == text


@given(st.integers(1_000, 10**12), st.integers(0, 99))
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_amount_copied_from_the_page_is_that_amount(language, whole, cents):
    amount = Decimal(f"{whole}.{cents:02}")
    with override(language):
        shown = number_format(amount, 2, use_l10n=True, force_grouping=True)
        assert Decimal(typed_number(shown) or "NaN") == amount
