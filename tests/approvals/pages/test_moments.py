"""Times relative to now have the words that the script of the page has too."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from approvals.templatetags.desk import deadline_clock, moment
from tests.support.markup import parse

NOON = datetime(2026, 11, 24, 11, 0, tzinfo=ZoneInfo("UTC"))


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    """It is noon in Berlin, for a person who reads English."""
    monkeypatch.setattr(timezone, "now", lambda: NOON)
    with timezone.override(ZoneInfo("Europe/Berlin")), translation.override("en"):
        yield


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        ({"seconds": 9}, "just now"),
        ({"hours": 35}, "yesterday"),
        ({"hours": 37}, "2 days ago"),
        ({"days": 400}, "400 days ago"),
        ({"hours": -24}, "tomorrow"),
        ({"hours": -37}, "in 2 days"),
    ],
)
def test_days_are_those_of_the_calendar_of_the_reader(passed, words):
    (time,) = parse(moment(NOON - timedelta(**passed))).find("time")
    assert time.words == words


@pytest.mark.parametrize(
    ("left", "english", "german"),
    [
        ({"seconds": -59}, "59 seconds ago", "vor 59 Sekunden"),
        ({"seconds": -61}, "1 minute ago", "vor 1 Minute"),
        ({"minutes": -59}, "59 minutes ago", "vor 59 Minuten"),
        ({"minutes": -60}, "1 hour ago", "vor 1 Stunde"),
        ({"hours": -23, "minutes": -59}, "23 hours ago", "vor 23 Stunden"),
        ({"seconds": 1}, "in 1 second", "in 1 Sekunde"),
        ({"seconds": 119}, "in 1 minute", "in 1 Minute"),
        ({"minutes": 50}, "in 50 minutes", "in 50 Minuten"),
        ({"minutes": 119, "seconds": 59}, "in 119 minutes", "in 119 Minuten"),
        ({"hours": 2}, "in 2 hours", "in 2 Stunden"),
    ],
)
def test_a_time_of_less_than_a_day_has_the_words_of_a_browser(left, english, german):
    """The words are those of `Intl.RelativeTimeFormat` in Node 20.20."""
    told = {}
    for language in ("en", "de"):
        with translation.override(language):
            (time,) = parse(moment(NOON + timedelta(**left), "in")).find("time")
            told[language] = time.words
    assert told == {"en": english, "de": german}


@pytest.mark.parametrize(
    ("left", "clock"),
    [
        ({"minutes": 4, "seconds": 9}, "at 12:04, 4:09 left"),
        ({"minutes": 14, "seconds": 9}, "at 12:14"),
        ({"hours": 2}, "at 14:00"),
        ({"hours": 12}, "at Nov 25, 00:00"),
        ({"seconds": -5}, "at 11:59, 0:00 left"),
    ],
)
def test_a_deadline_has_its_time_and_in_the_last_five_minutes_the_rest(left, clock):
    assert deadline_clock(NOON + timedelta(**left)) == clock
