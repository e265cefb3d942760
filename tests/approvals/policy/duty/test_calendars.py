"""People on duty by calendars: recurrence with exceptions, time zones, whole days, and changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from approvals.policy.duty.calendars import Shift, duty_calendar_in

BERLIN = ZoneInfo("Europe/Berlin")


def calendar(*events: str) -> bytes:
    """A calendar with these events, each given by its lines."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//"]
    for event in events:
        lines += ["BEGIN:VEVENT", *event.strip().split("\n"), "END:VEVENT"]
    return "\r\n".join([*map(str.strip, lines), "END:VCALENDAR", ""]).encode()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def shifts_in(text: bytes, begin: str, end: str) -> list[Shift]:
    return duty_calendar_in(text, at(begin), at(end), BERLIN).shifts


def shifts(text: bytes, begin: str, end: str) -> list[tuple[str, str, str]]:
    """Begin and end in UTC, and the summary, of the shifts between two moments."""
    found = shifts_in(text, begin, end)
    return [(each.begin.strftime("%m-%d %H:%M"), each.end.strftime("%m-%d %H:%M"), each.summary) for each in found]


def test_one_event_in_utc_with_its_attendees():
    text = calendar("""
        UID:1
        DTSTART:20270301T090000Z
        DTEND:20270301T170000Z
        SUMMARY:On call
        ATTENDEE;CN=Bob:mailto:Bob@Example.org
        ATTENDEE;PARTSTAT=DECLINED:mailto:carol@example.org
        ATTENDEE:mailto:alice@example.org
    """)
    (shift,) = shifts_in(text, "2027-03-01", "2027-03-02")
    assert (shift.begin, shift.end) == (at("2027-03-01 09:00"), at("2027-03-01 17:00"))
    assert (shift.attendees, shift.summary) == (("alice@example.org", "bob@example.org"), "On call")


@pytest.mark.parametrize(
    ("begin", "end", "is_in"),
    [
        ("2027-03-01 17:00", "2027-03-02", False),
        ("2027-03-01 16:59", "2027-03-02", True),
        ("2027-02-28", "2027-03-01 09:00", False),
        ("2027-02-28", "2027-03-01 09:01", True),
    ],
)
def test_only_shifts_between_the_two_moments(begin, end, is_in):
    text = calendar("UID:1\nDTSTART:20270301T090000Z\nDTEND:20270301T170000Z\nSUMMARY:bob")
    assert bool(shifts(text, begin, end)) == is_in


def test_a_rotation_of_two_weeks_keeps_its_hand_over_at_nine_when_the_clock_changes():
    weekly = (
        "DTSTART;TZID=Europe/Berlin:2027{}T090000\nDTEND;TZID=Europe/Berlin:2027{}T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2"
    )
    text = calendar(
        f"UID:1\n{weekly.format('0315', '0322')}\nSUMMARY:bob", f"UID:2\n{weekly.format('0322', '0329')}\nSUMMARY:erin"
    )
    assert shifts(text, "2027-03-20", "2027-04-10") == [
        ("03-15 08:00", "03-22 08:00", "bob"),
        ("03-22 08:00", "03-29 07:00", "erin"),
        ("03-29 07:00", "04-05 07:00", "bob"),
        ("04-05 07:00", "04-12 07:00", "erin"),
    ]


def test_and_when_it_is_put_back():
    text = calendar("""
        UID:1
        DTSTART;TZID=Europe/Berlin:20271025T220000
        DURATION:PT8H
        RRULE:FREQ=DAILY;UNTIL=20271102T000000Z
        SUMMARY:night
    """)
    assert shifts(text, "2027-10-30 12:00", "2027-11-03")[:3] == [
        ("10-30 20:00", "10-31 05:00", "night"),
        ("10-31 21:00", "11-01 05:00", "night"),
        ("11-01 21:00", "11-02 05:00", "night"),
    ]
    assert len(shifts(text, "2027-10-20", "2027-12-01")) == 8


def test_exceptions_move_change_and_cancel_occurrences():
    text = calendar(
        """
        UID:1
        DTSTART;TZID=Europe/Berlin:20270301T090000
        DTEND;TZID=Europe/Berlin:20270301T170000
        RRULE:FREQ=DAILY;COUNT=5
        EXDATE;TZID=Europe/Berlin:20270302T090000
        RDATE;TZID=Europe/Berlin:20270310T090000
        SUMMARY:bob
        """,
        """
        UID:1
        RECURRENCE-ID;TZID=Europe/Berlin:20270303T090000
        DTSTART;TZID=Europe/Berlin:20270303T120000
        DTEND;TZID=Europe/Berlin:20270303T130000
        SUMMARY:erin
        """,
        """
        UID:1
        RECURRENCE-ID:20270304T080000Z
        DTSTART:20270304T080000Z
        STATUS:CANCELLED
        """,
    )
    assert shifts(text, "2027-02-01", "2027-04-01") == [
        ("03-01 08:00", "03-01 16:00", "bob"),
        ("03-03 11:00", "03-03 12:00", "erin"),
        ("03-05 08:00", "03-05 16:00", "bob"),
        ("03-10 08:00", "03-10 16:00", "bob"),
    ]


def test_a_rule_may_name_days_of_the_week_and_days_of_the_month_at_once():
    """dateutil alone finds no day for it."""
    text = calendar("""
        DTSTART:20270306T090000Z
        DTEND:20270306T170000Z
        RRULE:FREQ=MONTHLY;BYDAY=SA,SU,1MO;UNTIL=20270410T000000Z
        SUMMARY:bob
    """)
    days = [begin[:5] for begin, _end, _summary in shifts(text, "2027-03-01", "2027-05-01")]
    march = ["03-06", "03-07", "03-13", "03-14", "03-20", "03-21", "03-27", "03-28"]
    assert days == [*march, "04-03", "04-04", "04-05"]


def test_whole_days_and_times_without_a_zone_are_in_that_of_the_team():
    text = calendar(
        "UID:1\nDTSTART;VALUE=DATE:20270327\nDTEND;VALUE=DATE:20270329\nSUMMARY:weekend",
        "UID:2\nDTSTART;VALUE=DATE:20270401\nSUMMARY:one day",
        "UID:3\nDTSTART:20270402T090000\nDTEND:20270402T100000\nSUMMARY:floating",
        "UID:4\nDTSTART;VALUE=DATE:20270101\nRRULE:FREQ=MONTHLY;BYMONTHDAY=5;UNTIL=20270405\nSUMMARY:monthly",
    )
    assert shifts(text, "2027-03-20", "2027-06-01") == [
        # The clock is put forward in the second night.
        ("03-26 23:00", "03-28 22:00", "weekend"),
        ("03-31 22:00", "04-01 22:00", "one day"),
        ("04-02 07:00", "04-02 08:00", "floating"),
        ("04-04 22:00", "04-05 22:00", "monthly"),
    ]


def test_a_zone_that_the_calendar_defines_itself():
    zone = """BEGIN:VTIMEZONE
TZID:Our Office
BEGIN:STANDARD
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
""".replace("\n", "\r\n").encode()
    text = calendar("UID:1\nDTSTART;TZID=Our Office:20270325T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY\nSUMMARY:bob")
    text = text.replace(b"BEGIN:VEVENT", zone + b"BEGIN:VEVENT", 1)
    assert shifts(text, "2027-03-27", "2027-03-29 12:00") == [
        ("03-27 08:00", "03-27 09:00", "bob"),
        ("03-28 07:00", "03-28 08:00", "bob"),
        ("03-29 07:00", "03-29 08:00", "bob"),
    ]


@pytest.mark.parametrize("text", [b"", b"<html>Log in</html>", b"BEGIN:VCALENDAR\r\n", b"\xff\xfe\x00"])
def test_what_is_no_calendar_is_refused(text):
    with pytest.raises(ValueError, match=r"\S"):
        shifts_in(text, "2027-03-01", "2027-03-02")


def test_an_event_without_a_summary_is_a_shift_without_one():
    text = calendar("UID:1\nDTSTART:20270301T090000Z\nDTEND:20270301T170000Z")
    assert shifts(text, "2027-03-01", "2027-03-02") == [("03-01 09:00", "03-01 17:00", "")]


WEEKLY = """
    UID:1
    DTSTART;TZID=Europe/Berlin:20270301T090000
    DTEND;TZID=Europe/Berlin:20270301T170000
    RRULE:FREQ=WEEKLY
    SUMMARY:bob
"""


def changed(day: str, start: str, *lines: str, following: bool = True) -> str:
    """A change of one occurrence of the weekly shift, for the following ones too."""
    begin = f"RECURRENCE-ID{';RANGE=THISANDFUTURE' if following else ''};TZID=Europe/Berlin:{day}T090000"
    return "\n".join(["UID:1", begin, f"DTSTART;TZID=Europe/Berlin:{start}", *lines])


def test_a_change_of_this_and_following_occurrences_counts_for_all_of_them():
    text = calendar(WEEKLY, changed("20270315", "20270316T100000", "DURATION:PT4H", "SUMMARY:erin"))
    assert shifts(text, "2027-03-01", "2027-04-02") == [
        ("03-01 08:00", "03-01 16:00", "bob"),
        ("03-08 08:00", "03-08 16:00", "bob"),
        ("03-16 09:00", "03-16 13:00", "erin"),
        ("03-23 09:00", "03-23 13:00", "erin"),
        # By the clock on the wall, which was changed.
        ("03-30 08:00", "03-30 12:00", "erin"),
    ]


def test_the_latest_change_holds_and_one_for_a_single_occurrence_is_stronger():
    text = calendar(
        changed("20270322", "20270322T090000", "DURATION:PT1H", "SUMMARY:carol"),
        WEEKLY,
        changed("20270308", "20270308T090000", "DURATION:PT2H", "SUMMARY:erin"),
        changed("20270329", "20270329T120000", "DURATION:PT3H", "SUMMARY:dora", following=False),
    )
    assert [(day[:5], who) for day, _end, who in shifts(text, "2027-03-01", "2027-04-10")] == [
        ("03-01", "bob"),
        ("03-08", "erin"),
        ("03-15", "erin"),
        ("03-22", "carol"),
        ("03-29", "dora"),
        ("04-05", "carol"),
    ]


def test_this_and_following_occurrences_can_be_cancelled_or_moved_by_weeks():
    cancelled = calendar(WEEKLY, changed("20270315", "20270315T090000", "STATUS:CANCELLED"))
    assert [day for day, _end, _who in shifts(cancelled, "2027-03-01", "2027-05-01")] == ["03-01 08:00", "03-08 08:00"]
    later = calendar(WEEKLY, changed("20270315", "20270505T090000", "DURATION:PT1H", "SUMMARY:erin"))
    assert [day for day, _end, _who in shifts(later, "2027-05-01", "2027-05-14")] == ["05-05 07:00", "05-12 07:00"]


def test_a_changed_occurrence_counts_as_long_as_it_lasts():
    text = calendar(WEEKLY, changed("20270315", "20270315T090000", "DURATION:P4D", "SUMMARY:erin"))
    assert shifts(text, "2027-03-25", "2027-03-26") == [("03-22 08:00", "03-26 08:00", "erin")]


@pytest.mark.parametrize(
    ("attendee", "addresses"),
    [
        ("ATTENDEE:bob@example.com", ("bob@example.com",)),
        ("ATTENDEE;CN=Bob Builder;ROLE=REQ-PARTICIPANT:Bob@Example.com", ("bob@example.com",)),
        ("ATTENDEE;EMAIL=bob@example.com:mailto:opaque-token@calendar.example", ("bob@example.com",)),
        ("ATTENDEE;EMAIL=bob@example.com:urn:uuid:7b0f", ("bob@example.com",)),
        ('ATTENDEE;EMAIL="Bob@Example.com":https://calendar.example/principals/7', ("bob@example.com",)),
        ("ATTENDEE:MAILTO:bob@example.com", ("bob@example.com",)),
        ("ATTENDEE:mailto:bob%2Bduty@example.com?subject=x", ("bob+duty@example.com",)),
        ("ATTENDEE;PARTSTAT=DECLINED;EMAIL=bob@example.com:mailto:x@example.com", ()),
        ("ATTENDEE:urn:uuid:7b0f", ()),
        ("ATTENDEE:bob", ()),
        ("ATTENDEE:invalid:nomail", ()),
        ("ATTENDEE:https://bob@calendar.example", ()),
    ],
)
def test_an_attendee_is_known_by_the_address_wherever_it_stands(attendee, addresses):
    text = calendar(
        f"UID:1\nDTSTART:20261201T080000Z\nDTEND:20261208T080000Z\n{attendee}\nSUMMARY:On Call - Bob Builder"
    )
    (shift,) = shifts_in(text, "2026-12-01", "2026-12-02")
    assert shift.attendees == addresses


def test_an_occurrence_can_be_left_out_by_its_day():
    text = calendar(WEEKLY.replace("SUMMARY", "EXDATE;VALUE=DATE:20270308\nRDATE;VALUE=DATE:20270310\nSUMMARY"))
    assert [day for day, _end, _who in shifts(text, "2027-03-01", "2027-03-16")] == [
        "03-01 08:00",
        "03-10 08:00",
        "03-15 08:00",
    ]


def test_a_changed_occurrence_does_not_recur_by_itself():
    change = changed("20270315", "20270315T120000", "DURATION:PT1H", "RRULE:FREQ=DAILY", following=False)
    assert [day for day, _end, _who in shifts(calendar(WEEKLY, change), "2027-03-08", "2027-03-25")] == [
        "03-08 08:00",
        "03-15 11:00",
        "03-22 08:00",
    ]


def test_a_date_of_recurrence_may_say_how_long_it_is():
    text = calendar("""
        UID:1
        DTSTART;TZID=Europe/Berlin:20270301T090000
        DTEND;TZID=Europe/Berlin:20270301T170000
        RDATE;VALUE=PERIOD:20270302T080000Z/20270302T100000Z,20270303T080000Z/PT3H
        RDATE;TZID=Europe/Berlin;VALUE=PERIOD:20270304T220000/20270306T060000
        RDATE;TZID=Europe/Berlin:20270307T090000
        SUMMARY:bob
    """)
    assert shifts(text, "2027-03-01", "2027-03-08") == [
        ("03-01 08:00", "03-01 16:00", "bob"),
        ("03-02 08:00", "03-02 10:00", "bob"),
        ("03-03 08:00", "03-03 11:00", "bob"),
        ("03-04 21:00", "03-06 05:00", "bob"),
        ("03-07 08:00", "03-07 16:00", "bob"),
    ]
    # A long period counts as long as it lasts, also where the event itself is short.
    assert shifts(text, "2027-03-06 04:00", "2027-03-06 04:30") == [("03-04 21:00", "03-06 05:00", "bob")]


def version(summary: str, sequence: str, *more: str) -> str:
    lines = ["UID:1", "DTSTART:20270301T090000Z", "DTEND:20270301T170000Z", f"SUMMARY:{summary}", sequence, *more]
    return "\n".join(filter(None, lines))


@pytest.mark.parametrize(
    ("events", "summary"),
    [
        ([version("old", "SEQUENCE:1"), version("new", "SEQUENCE:2")], "new"),
        ([version("new", "SEQUENCE:10"), version("old", "SEQUENCE:9")], "new"),
        ([version("new", "SEQUENCE:1"), version("old", "")], "new"),
        ([version("new", "", "DTSTAMP:20270202T000000Z"), version("old", "", "DTSTAMP:20270201T000000Z")], "new"),
        ([version("old", "SEQUENCE:1"), version("new", "SEQUENCE:1")], "new"),
        ([version("old", ""), version("new", "", "DTSTAMP:20270202T000000Z")], "new"),
        ([version("new", "SEQUENCE:1"), version("old", "SEQUENCE:many")], "new"),
        ([version("new", "SEQUENCE:1"), version("old", "", "DTSTAMP:PT1H")], "new"),
    ],
)
def test_of_an_event_that_is_there_twice_the_highest_sequence_counts(events, summary):
    assert shifts(calendar(*events), "2027-03-01", "2027-03-02") == [("03-01 09:00", "03-01 17:00", summary)]


def test_an_event_whose_newest_version_is_cancelled_is_gone():
    events = [version("bob", "SEQUENCE:1"), version("bob", "SEQUENCE:2", "STATUS:CANCELLED")]
    assert shifts(calendar(*events), "2027-03-01", "2027-03-02") == []


def test_a_cancelled_event_ends_no_other_one():
    events = [version("bob", "STATUS:CANCELLED"), version("erin", "").replace("UID:1", "UID:2")]
    assert [summary for *_, summary in shifts(calendar(*events), "2027-03-01", "2027-03-02")] == ["erin"]


def test_of_a_changed_occurrence_the_highest_sequence_counts_too():
    weekly = version("bob", "SEQUENCE:5", "RRULE:FREQ=WEEKLY")
    changed = [
        version(name, f"SEQUENCE:{number}", "RECURRENCE-ID:20270301T090000Z")
        for name, number in (("carol", 2), ("alice", 1))
    ]
    assert shifts(calendar(weekly, *changed), "2027-03-01", "2027-03-09") == [
        ("03-01 09:00", "03-01 17:00", "carol"),
        ("03-08 09:00", "03-08 17:00", "bob"),
    ]


def test_events_without_an_id_are_never_versions_of_each_other():
    events = [version(name, "").replace("UID:1\n", "") for name in ("alice", "bob")]
    assert [summary for *_, summary in shifts(calendar(*events), "2027-03-01", "2027-03-02")] == ["alice", "bob"]
