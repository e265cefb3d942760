"""Fetch a team's on-call calendar, and parse it in a process with limits."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals import http_post
from approvals.policy.duty.calendars import DutyCalendar, LeftOut, Shift

MAX_BYTES = 2_000_000
#: Time limits, in seconds, of the fetch, and of the parser on a loaded machine.
FETCH_SECONDS = 10.0
READ_SECONDS = 60.0


class Unreadable(Exception):
    """A calendar could not be read; the message gives the reason."""


def duty_calendar_at(
    url: str, begin: datetime, end: datetime, zone: str
) -> DutyCalendar:
    """Fetch a calendar and return its entries between two moments. Raise Unreadable."""
    try:
        allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
        body = http_post.get(
            url, allow_private=allowed, seconds=FETCH_SECONDS, max_bytes=MAX_BYTES
        )
    except http_post.Undelivered as error:
        raise Unreadable(str(error)) from error
    return read_calendar(body, begin, end, zone)


def read_calendar(
    body: bytes, begin: datetime, end: datetime, zone: str
) -> DutyCalendar:
    """Parse a calendar between two moments, in a process without our environment. Raise Unreadable."""
    wanted = json.dumps(
        {"begin": begin.isoformat(), "end": end.isoformat(), "zone": zone}
    )
    command = [sys.executable, "-m", "approvals.policy.duty.calendars"]
    try:
        done = subprocess.run(  # noqa: S603 - a constant, without a shell
            command, input=wanted.encode() + b"\n" + body, capture_output=True, timeout=READ_SECONDS,
            cwd=settings.BASE_DIR, env={}, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Unreadable(_("reading the calendar took too long")) from error
    if done.returncode < 0:
        raise Unreadable(_("reading the calendar took too long"))
    if done.returncode:
        raise Unreadable(_("this is not an iCalendar file"))
    read = json.loads(done.stdout)
    return DutyCalendar(
        [_shift(row) for row in read["shifts"]],
        [LeftOut(**row) for row in read["left_out"]],
    )


def _shift(row: dict[str, Any]) -> Shift:
    begin, end = (datetime.fromisoformat(row[name]) for name in ("begin", "end"))
    return Shift(begin, end, tuple(row["attendees"]), row["summary"])
