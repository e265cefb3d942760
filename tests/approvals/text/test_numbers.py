"""Numbers have the separators of the reader's language, also in sentences that are translated later."""

from __future__ import annotations

from decimal import Decimal

from django.utils.translation import override

from approvals.db.canonical_json import NotCanonical
from approvals.text.numbers import grouped
from approvals.text.translatable import Count, Sentence
from approvals.text.translation import translated

SENTENCE = Sentence("at most %(limit)s of %(name)s", {"limit": Count(20_000), "name": 1234})


def test_a_number_has_the_separators_of_the_language():
    values = (7, 20_000, -1_234_567, Decimal("1234.50"), Decimal("1E+6"))
    with override("en"):
        assert [*map(grouped, values)] == ["7", "20,000", "-1,234,567", "1,234.50", "1,000,000"]
    with override("de"):
        assert [*map(grouped, values)] == ["7", "20.000", "-1.234.567", "1.234,50", "1.000.000"]


def test_a_count_in_a_sentence_is_grouped_as_the_reader_does():
    with override("de"):
        assert (str(SENTENCE), translated(SENTENCE)) == ("at most 20,000 of 1234", "at most 20.000 of 1234")
        error = NotCanonical("larger than %(limit)s bytes", limit=Count(1_000_000))
        assert (str(error), "1.000.000" in translated(error)) == ("larger than 1,000,000 bytes", True)
    assert f"{Count(2_000)}" == "2,000"
