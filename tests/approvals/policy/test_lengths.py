"""How long a grant may last, in words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import translation

from approvals.policy.grants import length
from approvals.text.translatable import Sentence
from approvals.text.translation import translated


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ({"days": 90}, "90 days"),
        ({"days": 1}, "1 day"),
        ({"hours": 36}, "36 hours"),
        ({"hours": 1}, "1 hour"),
        ({"minutes": 90}, "90 minutes"),
        ({"seconds": 3_601}, "3,601 seconds"),
    ],
)
def test_a_length_is_a_whole_number_of_its_unit(span, words):
    assert str(length(timedelta(**span))) == words


def test_a_sentence_in_a_sentence_is_translated_too():
    sentence = Sentence("must be one of %(names)s", {"names": Sentence("must be a number")})
    with translation.override("de"):
        inner, outer = translated(Sentence("must be a number")), translated(sentence)
    assert outer.endswith(inner)
    assert inner != "must be a number"
    assert str(sentence) == "must be one of must be a number"
