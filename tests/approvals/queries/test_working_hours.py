"""Working time between two moments, in SQL, against counting it minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.models import Decision
from approvals.queries.insights.figures import insights_for
from approvals.states import Verdict
from hitlsite import env
from tests.approvals.queries.test_insights import NOW, past
from tests.support.desk.pressing import browser
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db
OFFICE = (0, 4, 9 * 3600, 17 * 3600)


def counted(begin: datetime, end: datetime) -> int:
    """The seconds of office hours between two moments, in steps of a minute."""
    minutes = int((end - begin).total_seconds() // 60)
    moments = (begin + timedelta(minutes=number) for number in range(minutes))
    return 60 * sum(at.weekday() <= 4 and 9 <= at.hour < 17 for at in moments)


@pytest.mark.parametrize(
    ("hours_ago", "seconds"),
    [(1, 600), (20, 600), (3, 3 * 3600), (26, 86_400), (30, 5 * 86_400), (80, 20 * 86_400), (48, 2 * 3600)],
)
def test_times_count_only_working_hours(settings, hours_ago, seconds):
    settings.HITL_WORKING_HOURS = OFFICE
    past(alice(), Verdict.APPROVE, seconds, by=bob(), days_ago=hours_ago / 24)
    end = Decision.objects.get().decided_at
    total = insights_for(standing_of(carol()), days=30, now=NOW).total
    assert total.median == pytest.approx(counted(end - timedelta(seconds=seconds), end), abs=1)


def test_hasty_decisions_are_measured_in_all_hours(settings):
    settings.HITL_WORKING_HOURS = OFFICE
    past(alice(), Verdict.APPROVE, 3600, by=bob(), days_ago=0.5, words=100)
    total = insights_for(standing_of(carol()), days=7, now=NOW).total
    assert (total.median, total.hasty) == (0, 0)


def test_days_are_those_of_the_time_zone_of_the_site(settings):
    past(alice(), Verdict.APPROVE, 60, by=bob(), days_ago=13 / 24)
    reader = carol()
    with timezone.override("Pacific/Auckland"):
        found = insights_for(standing_of(reader), days=7, now=NOW)
    assert Decision.objects.get().decided_at == datetime(2026, 11, 20, 23, tzinfo=UTC)
    assert [measure.name for measure in found.per_day if measure.ended] == ["2026-11-21"]
    assert found.per_day[-1].name == "2026-11-22"


@pytest.mark.parametrize(
    ("hours", "words"), [(None, "Working hours are not set"), (OFFICE, "Mon\N{EN DASH}Fri 09:00\N{EN DASH}17:00 (UTC)")]
)
def test_the_page_says_which_hours_count(settings, hours, words):
    settings.HITL_WORKING_HOURS = hours
    assert words in browser(carol()).get("/insights/").text


@pytest.mark.parametrize(
    "value", ["9-17", "Mon-Fri", "Fri-Mon 09:00-17:00", "Mon-Fri 17:00-09:00", "Mon-Fri 09:00-25:00"]
)
def test_invalid_working_hours_are_refused(monkeypatch, value):
    monkeypatch.setenv("HITL_WORKING_HOURS", value)
    with pytest.raises(ImproperlyConfigured, match="HITL_WORKING_HOURS"):
        env.working_hours("HITL_WORKING_HOURS")


def test_working_hours_and_time_zone_are_read(monkeypatch):
    monkeypatch.setenv("HITL_WORKING_HOURS", "Mon-Sat 08:30-24:00")
    monkeypatch.setenv("TIME_ZONE", "Europe/Berlin")
    assert env.working_hours("HITL_WORKING_HOURS") == (0, 5, 30_600, 86_400)
    assert env.time_zone("TIME_ZONE", default="UTC") == "Europe/Berlin"
    monkeypatch.setenv("TIME_ZONE", "Berlin")
    with pytest.raises(ImproperlyConfigured, match="TIME_ZONE"):
        env.time_zone("TIME_ZONE", default="UTC")
