"""A calendar is read by a process of its own, which is ended if it takes too long."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from approvals.actions.policy.duty import read_due_calendars
from approvals.models import TeamSettings
from approvals.outbound.duty_calendars import Unreadable, read_shifts
from approvals.policy.calendars import shifts_in
from approvals.queries.policy.duty import duty_state, on_duty_in
from tests.approvals.policy.test_calendars import BERLIN, at, calendar
from tests.support.desk.requests import PAST
from tests.support.people import bob
from tests.support.receiver import Receiver

BEGIN, END = at("2027-03-01"), at("2027-03-02")


def test_the_process_reads_the_same():
    text = calendar("UID:1\nDTSTART:20270301T090000Z\nDTEND:20270301T170000Z\nSUMMARY:bob\nATTENDEE:mailto:a@b.org")
    assert read_shifts(text, BEGIN, END, "Europe/Berlin") == shifts_in(text, BEGIN, END, BERLIN) != []


@pytest.mark.parametrize("text", [b"", b"<html>Log in</html>", b"BEGIN:VCALENDAR\r\n", b"\xff\xfe\x00"])
def test_what_is_no_calendar_is_refused_in_words(text):
    with pytest.raises(Unreadable, match="this is no iCalendar file"):
        read_shifts(text, BEGIN, END, "UTC")


def test_a_rule_that_never_comes_to_an_end_is_given_up_in_seconds():
    text = calendar("UID:1\nDTSTART:20200101T090000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY\nSUMMARY:bob")
    with pytest.raises(Unreadable, match="the calendar takes too long to read"):
        read_shifts(text, BEGIN, END, "UTC")


@pytest.mark.django_db(transaction=True)
def test_the_sweep_fetches_a_calendar_and_those_on_duty_are_known(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    now = timezone.now()
    times = [(now + timedelta(hours=hours)).strftime("%Y%m%dT%H%M%SZ") for hours in (-1, 1)]
    text = calendar("UID:1\nDTSTART:{}\nDTEND:{}\nSUMMARY:bob, mallory".format(*times))
    team, person = Group.objects.create(name="support"), bob()
    team.user_set.add(person)
    body = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(text), text)
    with Receiver(lambda got: lambda handler: handler.write(body), serves=True) as there:
        TeamSettings.objects.create(team=team, duty_url=there.url("/duty.ics?key=1"), duty_due_at=PAST)
        read_due_calendars()
        assert [(got.path, got.headers["accept-encoding"]) for got in there.got] == [("/duty.ics?key=1", "identity")]
    row = TeamSettings.objects.get()
    assert (on_duty_in([team.pk]), row.duty_error) == ({team.pk: {person.pk}}, "")
    assert duty_state(row).unknown == ["mallory"]
