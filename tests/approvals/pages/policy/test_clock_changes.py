"""A grant until a local time ends at that local time, also across a change of the clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.pages.grants.forms import GrantForm
from approvals.queries.policy.grants.grant_case import case_of
from tests.approvals.actions.policy.granting import ask
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def form(now: datetime, **sent: str) -> GrantForm:
    """The form as someone in Berlin sends it."""
    request = ask(alice())
    chosen = {"covers": "input", "audience": "agent", "reason": ""} | sent
    return GrantForm(request, case_of(request, request.workflow, standing_of(bob())), now, chosen)


@pytest.mark.parametrize(
    ("now", "until", "hours"),
    [
        # The clock goes back in the night to October 25, 2026, and forward in the night to March 28, 2027.
        (datetime(2026, 10, 24, 16, tzinfo=UTC), "2026-10-25T18:00", 25),
        (datetime(2027, 3, 27, 17, tzinfo=UTC), "2027-03-28T18:00", 23),
        (datetime(2026, 11, 24, 17, tzinfo=UTC), "2026-11-25T18:00", 24),
    ],
)
def test_a_time_is_that_of_the_clock_on_the_wall(now, until, hours):
    with timezone.override("Europe/Berlin"):
        sent = form(now, lasts="time", until=until)
        assert sent.is_valid()
        assert (sent.terms.until - now).total_seconds() == hours * 3_600
        assert timezone.localtime(sent.terms.until).isoformat().startswith(until)


@pytest.mark.parametrize(
    ("now", "midnight"),
    [
        (datetime(2026, 10, 24, 22, 30, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC)),
        (datetime(2027, 3, 27, 23, 30, tzinfo=UTC), datetime(2027, 3, 28, 22, tzinfo=UTC)),
    ],
)
def test_the_end_of_today_is_midnight_of_a_day_with_25_or_23_hours(now, midnight):
    with timezone.override("Europe/Berlin"):
        sent = form(now, lasts="today")
        assert sent.is_valid()
        assert sent.terms.until == midnight


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (datetime(2026, 10, 24, 16, tzinfo=UTC), "2026-10-25T02:30"),
        (datetime(2027, 3, 27, 17, tzinfo=UTC), "2027-03-28T02:30"),
    ],
)
def test_a_time_that_is_there_twice_or_not_at_all_is_refused_in_words(now, until):
    with timezone.override("Europe/Berlin"):
        [[error]] = form(now, lasts="time", until=until).errors.values()
    assert "it may be ambiguous or it may not exist" in error


def test_a_length_in_hours_counts_hours():
    now = datetime(2026, 10, 24, 22, tzinfo=UTC)
    with timezone.override("Europe/Berlin"):
        sent = form(now, lasts="28800")
        assert sent.is_valid()
        assert (sent.terms.until - now).total_seconds() == 28_800
