"""The insights page and its CSV export: over all requests for people who see everything, else over their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from approvals.access import permissions
from approvals.asking.asks import WORDS_PER_SECOND
from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages
from approvals.pages.insights import charts, links
from approvals.pages.insights.advice import advice_for
from approvals.pages.insights.csv_export import to_csv
from approvals.queries.attention.signs import SERIES, signs_of_all
from approvals.queries.insights.figures import LIMIT, PERIODS, ages_for, insights_for
from approvals.queries.insights.values import Insights, Measure, duration
from approvals.queries.insights.working_hours import shown_hours
from approvals.record.export import BYTE_ORDER_MARK

DEFAULT_PERIOD = 30


@dataclass(frozen=True, slots=True)
class TimesRow:
    """A row of a table of times: its figures, as text, and the lengths of its bars (0 to 100)."""

    measure: Measure
    name: str
    median: str
    p95: str
    median_bar: int
    p95_bar: int
    #: The requests behind it, in the inbox; and a recommendation.
    link: str = ""
    #: The address prefix of the cases behind its figures.
    cases: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one table (by tool, agent or person); `more` is the number of names not shown."""

    title: str
    column: str
    lines: Sequence[TimesRow]
    more: int
    empty: str


@require_GET
@refusals_as_pages
def insights(request: SignedIn) -> HttpResponse:
    """Show the insights of the last `?days=`, one of PERIODS, in the installation's time zone, the same for everyone."""
    with timezone.override(None):
        return _page(request)


def _page(request: SignedIn) -> HttpResponse:
    now = timezone.now()
    days = _period(request)
    figures = insights_for(request.standing, days=days, now=now)
    ages = ages_for(request.standing, now=now)
    context = {
        "insights": figures,
        "periods": PERIODS,
        "all": permissions.sees_everything(request.standing),
        "sees_by_scopes": permissions.sees_by_scopes(request.standing),
        "ages": [
            (name, count, charts.share(count, max(ages.counts)), links.waiting(age))
            for name, count, age in zip(_ages(), ages.counts, links.AGES, strict=True)
        ],
        "cases": links.cases(figures),
        "time_zone": timezone.get_current_timezone_name(),
        "working_hours": shown_hours(),
        "waiting": ages,
        "days": charts.days_chart(
            figures.per_day,
            {
                each.name: links.cases(figures, day=each.name)
                for each in figures.per_day
            },
        ),
        "tables": _tables(figures),
        "limit": LIMIT,
        "speed": WORDS_PER_SECOND,
        "attention": signs_of_all(since=figures.since)
        if permissions.may_administer(request.standing)
        else None,
        "series": SERIES,
        "total": _line(figures.total, "", figures.total.p95 or 0),
    }
    return render(request, "approvals/insights/page.html", context)


@require_GET
@refusals_as_pages
def insights_csv(request: SignedIn) -> HttpResponse:
    """Download the figures of the page with the same `?days=`."""
    now = timezone.now()
    days = _period(request)
    with timezone.override(None):
        figures = insights_for(request.standing, days=days, now=now)
        ages = ages_for(request.standing, now=now)
    name = f"insights-{days}-days-{now:%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    body = BYTE_ORDER_MARK + to_csv(figures, ages, _ages())
    return HttpResponse(body, content_type="text/csv; charset=utf-8", headers=headers)


def _period(request: SignedIn) -> int:
    wanted = request.GET.get("days", str(DEFAULT_PERIOD))
    if wanted not in map(str, PERIODS):
        raise Invalid(
            gettext("Insights are available for 7, 30, or 90 days."),
            {"days": gettext("must be 7, 30, or 90")},
        )
    return int(wanted)


def _ages() -> list[str]:
    return [
        gettext("under 5 minutes"),
        gettext("5 minutes to 1 hour"),
        gettext("1 hour to 1 day"),
        gettext("1 day to 1 week"),
        gettext("over 1 week"),
    ]


def _tables(figures: Insights) -> list[Table]:
    empty = {
        "tool": gettext(
            "The tools that agents ask about will be listed here, with what to do about each."
        ),
        "agent": gettext(
            "The agents that ask will be listed here, with how often they are approved."
        ),
        "by": gettext(
            "The people who decide will be listed here, with how long their decisions take."
        ),
    }
    return [
        _table(
            figures,
            gettext("By tool"),
            gettext("Tool"),
            "tool",
            gettext("(no tool)"),
            empty,
        ),
        _table(
            figures,
            gettext("By agent"),
            gettext("Agent"),
            "agent",
            gettext("(no agent)"),
            empty,
        ),
        _table(figures, gettext("By person"), gettext("Person"), "by", "", empty),
    ]


def _table(
    figures: Insights,
    title: str,
    column: str,
    by: str,
    nameless: str,
    empty: Mapping[str, str],
) -> Table:
    ranking = {"tool": figures.tools, "agent": figures.agents, "by": figures.people}[by]
    longest = max((measure.p95 or 0 for measure in ranking.measures), default=0)
    lines = [
        replace(
            _line(measure, measure.name or nameless, longest),
            link=links.decided(**{by: measure.name}) if measure.name else "",
            cases=links.cases(figures, **{by: measure.name}),
            advice=advice_for(measure) if by == "tool" else "",
        )
        for measure in ranking.measures
    ]
    return Table(title, column, lines, ranking.names - len(lines), empty[by])


def _line(of: Measure, name: str, longest: float) -> TimesRow:
    bars = (charts.log_share(of.median, longest), charts.log_share(of.p95, longest))
    return TimesRow(of, name, duration(of.median), duration(of.p95), *bars)
