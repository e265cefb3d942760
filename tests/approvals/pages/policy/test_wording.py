"""The terms of a grant in the language of the reader."""

from __future__ import annotations

from django.utils import translation

from approvals.pages.grants.wording import how_long


def test_the_number_of_uses_is_written_as_in_the_language_of_the_reader():
    assert how_long(None, 1_000) == "at most 1,000 times"
    with translation.override("de"):
        assert how_long(None, 1_000) == "höchstens 1.000-mal"
