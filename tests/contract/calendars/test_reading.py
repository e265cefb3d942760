"""A calendar is read by a process of its own, which is ended if it takes too long."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from approvals.actions.policy.duty.on_call import read_due_calendars
from approvals.models import TeamSettings
from approvals.outbound.duty_calendars import Unreadable, read_calendar
from approvals.policy.duty.calendars import duty_calendar_in
from approvals.queries.policy.duty.on_call import duty_state, on_duty_in
from tests.approvals.policy.duty.test_calendars import BERLIN, at, calendar
from tests.support.desk.pressing import browser
from tests.support.desk.requests import PAST
from tests.support.people import bob, make_person
from tests.support.receiver import Receiver

BEGIN, END = at("2027-03-01"), at("2027-03-02")


def test_the_process_reads_the_same():
    text = calendar("UID:1\nDTSTART:20270301T090000Z\nDTEND:20270301T170000Z\nSUMMARY:bob\nATTENDEE:mailto:a@b.org")
    read = read_calendar(text, BEGIN, END, "Europe/Berlin")
    assert (read, len(read.shifts)) == (duty_calendar_in(text, BEGIN, END, BERLIN), 1)


@pytest.mark.parametrize("text", [b"", b"<html>Log in</html>", b"BEGIN:VCALENDAR\r\n", b"\xff\xfe\x00"])
def test_what_is_no_calendar_is_refused_in_words(text):
    with pytest.raises(Unreadable, match="this is not an iCalendar file"):
        read_calendar(text, BEGIN, END, "UTC")


def test_a_rule_that_never_comes_to_an_end_is_given_up_in_seconds():
    text = calendar("UID:1\nDTSTART:20200101T090000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY\nSUMMARY:bob")
    with pytest.raises(Unreadable, match="reading the calendar took too long"):
        read_calendar(text, BEGIN, END, "UTC")


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


BARE = """
BEGIN:VCALENDAR
PRODID:-//Example//On call//EN
VERSION:2.0
X-WR-CALNAME:On Call Schedule for Payments
BEGIN:VEVENT
UID:1@pager.example
DTSTAMP:20261101T000000Z
DTSTART;VALUE=DATE-TIME:{begin}
DTEND;VALUE=DATE-TIME:{end}
ATTENDEE:bob@example.com
SUMMARY:On Call - Bob Builder - Payments
END:VEVENT
END:VCALENDAR
"""
ONE_BAD = """
BEGIN:VCALENDAR
PRODID:-//Example//EN
VERSION:2.0
BEGIN:VEVENT
UID:1
DTSTAMP:20261101T000000Z
DTSTART:{begin}
DTEND:{end}
RRULE:FREQ=SOMETIMES
SUMMARY:Lunch
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTAMP:20261101T000000Z
DTSTART:{begin}
DTEND:{end}
ATTENDEE:mailto:bob@example.com
SUMMARY:Duty
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("text", "left_out"), [(BARE, None), (ONE_BAD, "Lunch")], ids=["bare", "one bad"])
def test_the_page_of_a_team_says_who_is_on_duty_and_which_event_was_left_out(settings, text, left_out):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    now = timezone.now()
    begin, end = ((now + timedelta(hours=hours)).strftime("%Y%m%dT%H%M%SZ") for hours in (-1, 1))
    ics = text.strip().format(begin=begin, end=end).replace("\n", "\r\n").encode()
    body = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ics), ics)
    team, person = Group.objects.create(name="payments"), bob()
    person.email = "bob@example.com"
    person.save()
    team.user_set.add(person)
    with Receiver(lambda got: lambda handler: handler.write(body), serves=True) as there:
        TeamSettings.objects.create(team=team, duty_url=there.url("/duty.ics"), duty_due_at=PAST)
        read_due_calendars()
    row = TeamSettings.objects.get()
    state = duty_state(row)
    assert (state.now, state.unknown, row.duty_error) == ([person], [], "")
    page = browser(make_person("adam", "administer")).get(f"/settings/teams/{team.pk}/settings/").text
    assert ("These events cannot be read" in page, "Lunch" in page) == ((True, True) if left_out else (False, False))
    assert [event["summary"] for event in state.left_out] == ([left_out] if left_out else [])
