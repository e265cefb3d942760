"""The cases behind a figure of Insights or of *How you decide*."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages
from approvals.pages.insights.views import DEFAULT_PERIOD
from approvals.queries.filters import at_most, one_of, read_checked
from approvals.queries.insights.cases import (
    FIGURES,
    HASTY,
    NAMES,
    PAGE,
    Cases,
    cases_of,
)
from approvals.queries.insights.figures import LIMIT, PERIODS
from approvals.queries.insights.values import duration


def _place(value: str) -> str:
    return (
        ""
        if value.isascii() and value.isdecimal() and int(value[:7]) <= LIMIT
        else _("is not understood")
    )


def _day(value: str) -> str:
    try:
        date.fromisoformat(value)
    except ValueError:
        return _("is not a date like 2026-11-23")
    return ""


#: Names are looked up unchanged, so an empty one selects cases without a tool.
CHECKS: Mapping[str, Callable[[str], str]] = {
    "of": one_of((*FIGURES, HASTY)),
    "days": one_of(tuple(map(str, PERIODS))),
    "day": _day,
    "skip": _place,
    "tool": at_most(100),
    "agent": at_most(100),
    "by": at_most(300),
}


@require_GET
@refusals_as_pages
def insights_cases(request: SignedIn) -> HttpResponse:
    """The requests behind a figure of the insights page, latest first; `?of=` names it."""
    values, errors = read_checked(request.GET, CHECKS)
    if "of" not in values:
        errors.setdefault("of", _("is missing"))
    if errors:
        raise Invalid(
            _("This URL has invalid filters, so the list shows nothing."), errors
        )
    figure = values["of"]
    days = int(values.get("days", DEFAULT_PERIOD))
    names = {name: request.GET[name].strip() for name in NAMES if name in request.GET}
    day = date.fromisoformat(values["day"]) if "day" in values else None
    skip = read_place(request.GET)
    with timezone.override(None):
        cases = cases_of(
            request.standing,
            figure,
            days=days,
            now=timezone.now(),
            names=names,
            day=day,
            skip=skip,
        )
    narrowed = ", ".join(
        [*(name for name in names.values() if name), *([values["day"]] if day else [])]
    )
    more = {"days": days, "back": "insights", "narrowed": narrowed}
    return render(
        request,
        "approvals/insights/cases.html",
        context_of(request.GET, cases, figure, skip) | more,
    )


def read_place(sent: QueryDict) -> int:
    """Return how many cases were shown before. Raise Invalid."""
    value = sent.get("skip", "") or "0"
    if problem := _place(value):
        raise Invalid(
            _("This URL has invalid filters, so the list shows nothing."),
            {"skip": problem},
        )
    return int(value)


def context_of(sent: QueryDict, cases: Cases, figure: str, skip: int) -> dict[str, Any]:
    """Return the context of `approvals/insights/cases.html`."""
    following = {name: value for name, value in sent.items() if name != "skip"} | {
        "skip": str(skip + PAGE)
    }
    return {
        "title": titles()[figure],
        "rows": [(each, _pace_words(cases, each.pk)) for each in cases.requests],
        "next": f"?{urlencode(following)}" if cases.more else "",
    }


def _pace_words(cases: Cases, pk: Any) -> str:
    """Return how long a decision took and how long reading takes; empty if unknown."""
    pace = cases.paces.get(pk)
    if pace is None or not pace.is_readable:
        return ""
    return _("took %(taken)s; reading takes about %(reading)s") % {
        "taken": duration(pace.taken),
        "reading": duration(pace.reading),
    }


def titles() -> dict[str, str]:
    """Return the titles of figures by name."""
    return {
        "ended": _("Ended"),
        "decided": _("Decided by people"),
        "approved": _("Approved unchanged"),
        "edited": _("With changes"),
        "rejected": _("Rejected"),
        "answered": _("Answered"),
        "declined": _("Declined"),
        "expired": _("Expired"),
        "cancelled": _("Cancelled"),
        "automatic": _("By rule, grant or API key"),
        "settled": _("Resolved"),
        "on_pages": _("Decided on pages"),
        "unseen": _("Approved with parts unopened"),
        "series": _("Longest series of these"),
        HASTY: _("Faster than reading"),
    }
