"""Messages wait for the end of a person's quiet hours, except about critical requests; kinds can be switched off."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from django.core import mail
from django.utils import timezone

from approvals import actions
from approvals.models import OutboxEvent, Preferences
from approvals.outbound.quiet_hours import may_leave_at
from approvals.states import Channel, Door, Kind, Priority
from tests.support.desk.carrying import carry, later, tell, with_address
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

BERLIN = "Europe/Berlin"


def quiet(begin: int, end: int, zone: str = "UTC") -> Preferences:
    return Preferences(quiet_from=time(begin), quiet_until=time(end), time_zone=zone)


@pytest.mark.parametrize(
    ("preferences", "now", "leaves"),
    [
        (None, "2026-11-23T03:00", "2026-11-23T03:00"),
        (Preferences(), "2026-11-23T03:00", "2026-11-23T03:00"),
        (quiet(22, 7), "2026-11-23T21:59", "2026-11-23T21:59"),
        (quiet(22, 7), "2026-11-23T22:00", "2026-11-24T07:00"),
        (quiet(22, 7), "2026-11-24T06:59", "2026-11-24T07:00"),
        (quiet(22, 7), "2026-11-24T07:00", "2026-11-24T07:00"),
        (quiet(12, 13), "2026-11-24T12:30", "2026-11-24T13:00"),
        (quiet(22, 7, BERLIN), "2026-11-23T21:30", "2026-11-24T06:00"),
        # The clocks go back that night, so that seven o'clock comes an hour later.
        (quiet(22, 7, BERLIN), "2026-10-24T21:00", "2026-10-25T06:00"),
    ],
)
def test_quiet_hours_end_by_the_clock_of_the_person(preferences, now, leaves):
    moments = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (now, leaves)]
    assert may_leave_at(preferences, moments[0]) == moments[1]


def around_now() -> dict[str, object]:
    """Quiet hours from an hour ago until in two hours."""
    now = timezone.now()
    return {
        "quiet_from": (now - timedelta(hours=1)).time().replace(microsecond=0),
        "quiet_until": (now + timedelta(hours=2)).time().replace(microsecond=0),
    }


@pytest.mark.django_db(transaction=True)
def test_mails_wait_in_quiet_hours_and_critical_ones_leave_alone():
    person = with_address(bob())
    tell(person)
    Preferences.objects.create(person=person, **around_now())
    owner = alice()
    make_request(owner, title="Later?")
    carry()
    assert mail.outbox == []
    make_request(owner, title="Now?", priority=Priority.CRITICAL)
    carry()
    assert [message.subject for message in mail.outbox] == ["[Pausepoint] Now? (support)"]
    later()
    carry()
    assert [message.subject for message in mail.outbox][1:] == ["[Pausepoint] Later? (support)"]


@pytest.mark.django_db(transaction=True)
def test_kinds_that_a_person_does_not_want_are_not_mailed(settings):
    settings.HITL_MAIL = True
    person = with_address(bob())
    tell(person)
    Preferences.objects.create(person=person, muted=["mail:question", "mail:assigned", "browser:approval"])
    owner = alice()
    make_request(owner, Kind.QUESTION)
    made = make_request(owner, Kind.APPROVAL, title="Wanted?")
    actions.assign(made.pk, to=person, by=person, via=Door.DASHBOARD)
    carry()
    assert [message.subject for message in mail.outbox] == ["[Pausepoint] Wanted? (support)"]
    assert OutboxEvent.objects.filter(channel=Channel.MAIL).count() == 1
