"""The page about pauses agrees with what programs have observed of the frameworks."""

from __future__ import annotations

from tests.contract.frameworks.pauses import PAGE, page


def test_the_table_is_what_was_observed():
    assert PAGE.read_text() == page(), "python -m tests.contract.frameworks.pauses writes it anew"
