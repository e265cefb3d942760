"""Texts in the current language: of errors that know no Django, of statuses, and of how long ago something was."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

import pytest
from django.utils import timezone
from django.utils.translation import override

from approvals.db.canonical_json import NotCanonical, parse
from approvals.text.translatable import TranslatableError
from approvals.text.translation import TITLES, decided_words, title_of, translated


def test_an_error_is_english_by_itself_and_is_translated_where_it_is_shown():
    error = TranslatableError("Enter a valid %(name)s", name="date")
    assert (str(error), translated(error)) == ("Enter a valid date", "Enter a valid date")
    with override("de"):
        # A text that Django itself has translated.
        assert translated(TranslatableError("Enter a whole number.")) == "Bitte eine ganze Zahl eingeben."


def test_the_values_of_an_error_are_not_taken_for_places():
    with pytest.raises(NotCanonical) as refused:
        parse('{"%(x)s": 1, "%(x)s": 2}')
    assert translated(refused.value) == str(refused.value) == "has the name '%(x)s' more than once"


def test_every_title_of_a_refusal_can_be_translated():
    used = (400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 503)
    assert {title_of(HTTPStatus(status)) for status in used} <= set(TITLES)


@pytest.mark.parametrize(
    ("verdict", "who", "ago", "words"),
    [
        ("approve", "bob", timedelta(minutes=2, seconds=5), "This request was approved 2 minutes ago by bob."),
        ("edit", "bob", timedelta(0), "This request was approved with changes just now by bob."),
        ("cancel", "", timedelta(days=3), "This request was cancelled 3 days ago by Pausepoint."),
        ("expire", "", timedelta(hours=1, seconds=5), "This request expired 1 hour ago."),
    ],
)
def test_who_decided_a_request_is_said_with_how_long_ago_it_was(verdict, who, ago, words):
    assert decided_words(verdict, who, timezone.now() - ago) == words
