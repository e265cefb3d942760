"""Working time between two moments, in SQL for both databases, by the setting HITL_WORKING_HOURS."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Func, IntegerField
from django.utils import timezone
from django.utils.dates import WEEKDAYS_ABBR

#: From 1970-01-01, a Thursday, to the Monday after it.
FIRST_MONDAY = 4 * 86_400


class WeekSeconds(Func):
    """Whole seconds of a moment since FIRST_MONDAY, by the clock of the site.

    On SQLite the clock has today's offset, so times before a change to summer time may be an hour off.
    """

    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        offset = timezone.localtime().utcoffset()
        ahead = int(offset.total_seconds()) if offset is not None else 0
        template = f"CAST((julianday(%(expressions)s) - 2440587.5) * 86400 + {ahead - FIRST_MONDAY} AS INTEGER)"
        return self.as_sql(compiler, connection, template=template)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        local = f"%(expressions)s AT TIME ZONE '{timezone.get_current_timezone_name()}'"
        template = f"(EXTRACT(EPOCH FROM ({local}))::bigint - {FIRST_MONDAY})"
        return self.as_sql(compiler, connection, template=template)


def worked_seconds() -> str:
    """Return the SQL of the working time from `created` to `ended`, or of all of it without working hours."""
    if settings.HITL_WORKING_HOURS is None:
        return "seconds"
    return f"CASE WHEN ended < created THEN 0 ELSE {_worked_until('ended')} - {_worked_until('created')} END"


def _worked_until(moment: str) -> str:
    """Return the SQL of the working time from FIRST_MONDAY to a moment, in integers."""
    hours: tuple[int, int, int, int] = settings.HITL_WORKING_HOURS  # type: ignore[assignment]  # checked by the caller
    first, last, begin, end = hours
    days = last - first + 1
    length = end - begin
    week = f"({moment} / 604800)"
    day = f"({moment} / 86400)"
    weekday = f"({day} - {week} * 7)"
    before = _between(f"({weekday} - {first})", days)
    today = _between(f"({moment} - {day} * 86400 - {begin})", length)
    return f"({length} * ({week} * {days} + {before}) + CASE WHEN {weekday} BETWEEN {first} AND {last} THEN {today} ELSE 0 END)"


def _between(value: str, most: int) -> str:
    return f"CASE WHEN {value} < 0 THEN 0 WHEN {value} > {most} THEN {most} ELSE {value} END"


def shown_hours() -> str:
    """Return the working hours in their written form; empty if none are set."""
    if settings.HITL_WORKING_HOURS is None:
        return ""
    first, last, begin, end = settings.HITL_WORKING_HOURS
    names = [str(WEEKDAYS_ABBR[day]) for day in (first, last)]
    hours = [f"{moment // 3600:02}:{moment % 3600 // 60:02}" for moment in (begin, end)]
    return f"{'–'.join(names)} {'–'.join(hours)}"  # noqa: RUF001 - en dashes
