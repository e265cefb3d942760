"""The figures of the insights page, computed by the database: one query for ended requests, one for waiting ones, and one for
decisions on pages, which `attention.people` compares with reading speed.

The SQL is the same on SQLite and PostgreSQL. It groups the decisions before anything else, so that each is sorted once. The
median and the 95th percentile use nearest rank. At most the latest LIMIT rows are read, by an index, so the cost is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import (
    Case,
    Count,
    DateField,
    F,
    FloatField,
    Func,
    IntegerField,
    Min,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils import timezone

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.db.literal import literal
from approvals.models import ApprovalRequest, Decision
from approvals.queries.attention.people import by_keys, by_people, made, on_pages
from approvals.queries.insights.values import Ages, Insights, Measure, Ranking
from approvals.queries.insights.working_hours import WeekSeconds, worked_seconds
from approvals.queries.policy.scopes.visible import seen_by
from approvals.states import Door, Kind, Status
from approvals.text.names import fold

PERIODS = (7, 30, 90)
#: Maximum rows that a query reads.
LIMIT = 20_000
#: Maximum names in each table.
TOP = 20
#: The limits between the ages of waiting requests.
AGES = (timedelta(minutes=5), timedelta(hours=1), timedelta(days=1), timedelta(days=7))

#: Numbers of hasty decisions and of comparable ones, by axis and name.
Paces = Mapping[tuple[str, str], tuple[int, int]]
#: Decided by a rule, a grant, or a program with an API key.
AUTOMATIC = by_keys() | Q(via__in=[Door.RULE, Door.GRANT])
#: The figures that the database counts.
_READ = [
    each.name
    for each in fields(Measure)
    if each.name not in {"median", "p95", "hasty", "readable"}
]

#: `base` holds the decisions, `timed` adds the working time until each, and `alike` counts those that differ in their times
#: only, with these times as a text and one spelling of their tool. `seen` holds each of those once per axis.
FIGURES = """
WITH base AS ({base}),
timed AS (SELECT base.*, {worked} AS worked FROM base),
alike AS (
  SELECT agent, person, day, verdict, approval, human, automatic, CAST(COUNT(*) AS integer) AS ended,
    {listed}(CASE WHEN human = 1 THEN CAST(worked AS text) END, ',') AS times,
    MAX(MAX(tool)) OVER (PARTITION BY canonical_tool) AS spelled
  FROM timed GROUP BY canonical_tool, agent, person, day, verdict, approval, human, automatic
),
seen AS (
  SELECT 'all' AS axis, '' AS name, verdict, approval, human, automatic, ended, times FROM alike
  UNION ALL SELECT 'tool', spelled, verdict, approval, human, automatic, ended, times FROM alike
  UNION ALL SELECT 'agent', agent, verdict, approval, human, automatic, ended, times FROM alike
  UNION ALL SELECT 'person', person, verdict, approval, human, automatic, ended, times FROM alike WHERE human = 1
  UNION ALL SELECT 'day', {day}, verdict, approval, human, automatic, ended, times FROM alike
),
measured AS (
  SELECT axis, name, SUM(ended) AS ended,
    SUM(CASE WHEN approval = 1 AND verdict = 'approve' AND human = 1 THEN ended ELSE 0 END) AS approved,
    SUM(CASE WHEN verdict = 'edit' AND human = 1 THEN ended ELSE 0 END) AS edited,
    SUM(CASE WHEN approval = 1 AND verdict = 'reject' AND human = 1 THEN ended ELSE 0 END) AS rejected,
    SUM(CASE WHEN human = 1 AND approval = 0 AND verdict <> 'reject' THEN ended ELSE 0 END) AS answered,
    SUM(CASE WHEN human = 1 AND approval = 0 AND verdict = 'reject' THEN ended ELSE 0 END) AS declined,
    SUM(CASE WHEN verdict = 'expire' THEN ended ELSE 0 END) AS expired,
    SUM(CASE WHEN verdict = 'cancel' THEN ended ELSE 0 END) AS cancelled,
    SUM(CASE WHEN automatic = 1 THEN ended ELSE 0 END) AS automatic,
    {listed}(times, ',') AS times
  FROM seen GROUP BY axis, name
),
placed AS (
  SELECT measured.*, ROW_NUMBER() OVER (PARTITION BY axis ORDER BY ended DESC, name) AS spot,
    COUNT(*) OVER (PARTITION BY axis) AS names
  FROM measured
)
SELECT * FROM placed WHERE spot <= {top} OR axis = 'day' ORDER BY axis, spot
"""
#: How each database joins texts, and writes a day as one.
_WORDS = {
    "sqlite": {"listed": "group_concat", "day": "day"},
    "postgresql": {"listed": "string_agg", "day": "to_char(day, 'YYYY-MM-DD')"},
}


class Waited(Func):
    """Seconds from the second moment to the first; never negative, although the clocks of two processes may differ."""

    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        template = "MAX(0.0, (julianday(%(expressions)s)) * 86400.0)"
        return self.as_sql(
            compiler, connection, template=template, arg_joiner=") - julianday("
        )

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        template = "GREATEST(0, date_part('epoch', %(expressions)s))"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ")


class Day(Func):
    """The day of a moment in the time zone of the site; on SQLite as a text like `2026-11-21`."""

    output_field = DateField()

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        zone = timezone.get_current_timezone_name()
        template = f"django_datetime_cast_date(%(expressions)s, '{zone}', 'UTC')"
        return self.as_sql(
            compiler,
            connection,
            template="substr(%(expressions)s, 1, 10)" if zone == "UTC" else template,
        )

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        zone = timezone.get_current_timezone_name()
        return self.as_sql(
            compiler,
            connection,
            template=f"CAST(%(expressions)s AT TIME ZONE '{zone}' AS date)",
        )


def insights_for(viewer: Standing, *, days: int, now: datetime) -> Insights:
    """Return the figures of the requests that ended in the last `days` days and that this person may see."""
    since = period_of(now, days)
    paces = _paces(viewer, since)
    rows: dict[str, list[Measure]] = {}
    names: dict[str, int] = {}
    for row in _rows(_ended(viewer, since)):
        rows.setdefault(row["axis"], []).append(_measure(row, paces))
        names[row["axis"]] = row["names"]
    total = rows["all"][0] if "all" in rows else Measure(name="", ended=0)
    capped = total.ended == LIMIT
    return Insights(
        days=days,
        since=since,
        until=now,
        total=total,
        per_day=_per_day(rows.get("day", []), since, days, known_only=capped),
        tools=Ranking(measures=rows.get("tool", []), names=names.get("tool", 0)),
        agents=Ranking(measures=rows.get("agent", []), names=names.get("agent", 0)),
        people=Ranking(measures=rows.get("person", []), names=names.get("person", 0)),
        capped=capped,
    )


def period_of(now: datetime, days: int) -> datetime:
    """Return the start of a period of this many days: at midnight, so that the first bar covers a whole day."""
    return timezone.localtime(now).replace(
        hour=0, minute=0, second=0, microsecond=0
    ) - timedelta(days=days - 1)


def ages_for(viewer: Standing, *, now: datetime) -> Ages:
    """Return the ages of the waiting requests that this person may see."""
    waiting = _seen_by(
        viewer, ApprovalRequest.objects.filter(status=literal(Status.PENDING))
    )
    # Count at most LIMIT rows of the index.
    moments = waiting.order_by().values("created_at")[:LIMIT]
    older = {
        f"n{place}": Count("created_at", filter=Q(created_at__lte=now - age))
        for place, age in enumerate(AGES)
    }
    ages = moments.aggregate(
        total=Count("created_at"), oldest=Min("created_at"), **older
    )
    steps = [ages["total"], *(ages[name] for name in older), 0]
    counts = [steps[place] - steps[place + 1] for place in range(len(steps) - 1)]
    return Ages(counts=counts, oldest=ages["oldest"], capped=ages["total"] == LIMIT)


def _seen_by(
    viewer: Standing, rows: QuerySet[ApprovalRequest]
) -> QuerySet[ApprovalRequest]:
    if not viewer.is_active:
        return rows.none()
    return rows if permissions.sees_everything(viewer) else rows.filter(seen_by(viewer))


def decisions_for(viewer: Standing, since: datetime) -> QuerySet[Decision]:
    """Return the decisions that this person may see: all, or those on their own, assigned and in-scope requests.

    Each of these is read by an index.
    """
    decisions = Decision.objects.filter(decided_at__gte=since)
    if not viewer.is_active:
        return decisions.none()
    if permissions.sees_everything(viewer):
        return decisions
    # A request changes for the last time when it is decided.
    ended = ApprovalRequest.objects.filter(changed_at__gte=since).exclude(
        status=Status.PENDING
    )
    sides = [
        ended.filter(**{side: viewer.pk}).order_by("-changed_at", "-id")
        for side in ("requested_by", "assigned_to")
    ]
    if viewer.scope_sets:
        sides.append(
            ended.filter(permissions.in_scope(viewer)).order_by("-changed_at", "-id")
        )
    own, *more = (
        ApprovalRequest.objects.filter(pk__in=side.values("pk")[:LIMIT]).values("pk")
        for side in sides
    )
    return decisions.filter(request__in=own.union(*more))


def _ended(viewer: Standing, since: datetime) -> QuerySet[Any]:
    def flag(condition: Q) -> Case:
        return Case(
            When(condition, then=Value(1)),
            default=Value(0),
            output_field=IntegerField(),
        )

    shown = decisions_for(viewer, since).values(
        "verdict",
        tool=F("request__tool_name"),
        canonical_tool=F("request__canonical_tool"),
        agent=F("request__agent"),
        person=F("by_name"),
        approval=flag(Q(request__kind=Kind.APPROVAL)),
        human=flag(by_people()),
        automatic=flag(AUTOMATIC),
        seconds=Waited("decided_at", "request__created_at"),
        day=Day("decided_at"),
        created=WeekSeconds("request__created_at"),
        ended=WeekSeconds("decided_at"),
    )
    return shown.order_by("-decided_at", "-id")[:LIMIT]


def _rows(ended: QuerySet[Any]) -> list[dict[str, Any]]:
    try:
        base, values = ended.query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
    except EmptyResultSet:  # inactive users see nothing
        return []
    with connection.cursor() as cursor:
        words = _WORDS[connection.vendor]
        cursor.execute(
            FIGURES.format(base=base, top=TOP, worked=worked_seconds(), **words), values
        )
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _measure(row: Mapping[str, Any], paces: Paces) -> Measure:
    known_as = fold(row["name"]) if row["axis"] == "tool" else row["name"]
    hasty, readable = paces.get((row["axis"], known_as), (0, 0))
    # PostgreSQL writes a whole number without a point.
    times = sorted(json.loads(f"[{row['times'] or ''}]", parse_int=float))
    return Measure(
        **{name: row[name] for name in _READ},
        median=_nearest(times, 50),
        p95=_nearest(times, 95),
        hasty=hasty,
        readable=readable,
    )


def _nearest(times: Sequence[float], percent: int) -> float | None:
    """Return the percentile of sorted times by nearest rank: one of them, or None if there are none."""
    return times[(percent * len(times) + 99) // 100 - 1] if times else None


def _paces(viewer: Standing, since: datetime) -> Paces:
    """Return the numbers of hasty decisions on pages and of comparable ones, by axis and name.

    Tools by their canonical names.
    """
    latest = (
        decisions_for(viewer, since)
        .filter(on_pages())
        .order_by("-decided_at", "-id")[:LIMIT]
    )
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for each in made(latest):
        if not each.is_readable:
            continue
        day = f"{timezone.localtime(each.decided_at):%Y-%m-%d}"
        names = {
            "all": "",
            "tool": fold(each.tool),
            "agent": each.agent,
            "person": each.by_name,
            "day": day,
        }
        for place in names.items():
            hasty, readable = counts.get(place, (0, 0))
            counts[place] = (hasty + each.is_hasty, readable + 1)
    return counts


def _per_day(
    rows: list[Measure], since: datetime, days: int, *, known_only: bool
) -> list[Measure]:
    """Return every day of the period in order, including empty ones; with `known_only`, only from the first known day."""
    known = {measure.name: measure for measure in rows}
    names = [f"{since + timedelta(days=place):%Y-%m-%d}" for place in range(days)]
    if known_only:
        names = [name for name in names if name >= min(known)]
    return [known.get(name) or Measure(name=name, ended=0) for name in names]
