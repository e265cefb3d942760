"""The requests behind a figure of the insights page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, Decision
from approvals.queries.attention.people import Made, by_people, made, on_pages
from approvals.queries.insights.figures import (
    AUTOMATIC,
    LIMIT,
    decisions_for,
    period_of,
)
from approvals.queries.requests import requests_for
from approvals.states import Kind, Verdict

#: Cases that are shown at once.
PAGE = 50
_APPROVAL = Q(request__kind=Kind.APPROVAL)
_REJECTED = Q(verdict=Verdict.REJECT)
#: The conditions of the figures that the database counts.
FIGURES: Mapping[str, Q] = {
    "ended": Q(),
    "decided": by_people(),
    "approved": by_people() & _APPROVAL & Q(verdict=Verdict.APPROVE),
    "edited": by_people() & Q(verdict=Verdict.EDIT),
    "rejected": by_people() & _APPROVAL & _REJECTED,
    "answered": by_people() & ~_APPROVAL & ~_REJECTED,
    "declined": by_people() & ~_APPROVAL & _REJECTED,
    "expired": Q(verdict=Verdict.EXPIRE),
    "cancelled": Q(verdict=Verdict.CANCEL),
    "automatic": AUTOMATIC,
    "settled": ~by_people()
    & ~AUTOMATIC
    & ~Q(verdict__in=[Verdict.EXPIRE, Verdict.CANCEL]),
    "on_pages": on_pages(),
    "unseen": on_pages() & Q(unseen__gt=0),
}
#: This figure cannot be computed by the database.
HASTY = "hasty"
NAMES = {"tool": "request__canonical_tool", "agent": "request__agent", "by": "by_name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Some cases of a figure, latest first; `paces` are those of decisions on pages, by request."""

    requests: Sequence[ApprovalRequest]
    paces: Mapping[UUID, Made] = field(default_factory=dict)
    more: bool


def cases_of(
    viewer: Standing,
    figure: str,
    *,
    days: int,
    now: datetime,
    names: Mapping[str, str],
    day: date | None,
    skip: int,
) -> Cases:
    """Return a figure's cases that this person may see, filtered by names of `NAMES` and a day in the site's time zone."""
    decisions = decisions_for(viewer, period_of(now, days)).filter(
        **{NAMES[name]: value for name, value in names.items()}
    )
    if day is not None:
        begin = timezone.make_aware(datetime.combine(day, time.min))
        end = timezone.make_aware(datetime.combine(day + timedelta(days=1), time.min))
        decisions = decisions.filter(decided_at__gte=begin, decided_at__lt=end)
    if figure == HASTY:
        hasty = [
            each
            for each in made(_latest(decisions.filter(on_pages())))
            if each.is_hasty
        ]
        return _shown(
            viewer,
            [each.request_id for each in hasty],
            skip,
            {each.request_id: each for each in hasty},
        )
    ids = _latest(decisions.filter(FIGURES[figure])).values_list(
        "request_id", flat=True
    )
    return _shown(viewer, list(ids[skip : skip + PAGE + 1]), 0)


def shown_cases(viewer: Standing, decisions: Sequence[Made], skip: int) -> Cases:
    """Return some of these decisions as cases, in order."""
    return _shown(
        viewer,
        [each.request_id for each in decisions],
        skip,
        {each.request_id: each for each in decisions},
    )


def _latest(decisions: QuerySet[Decision]) -> QuerySet[Decision]:
    return decisions.order_by("-decided_at", "-id")[:LIMIT]


def _shown(
    viewer: Standing,
    ids: Sequence[UUID],
    skip: int,
    paces: Mapping[UUID, Made] | None = None,
) -> Cases:
    page = ids[skip : skip + PAGE]
    visible = {each.pk: each for each in requests_for(viewer).filter(pk__in=page)}
    requests = [visible[pk] for pk in page if pk in visible]
    return Cases(requests=requests, paces=paces or {}, more=len(ids) > skip + PAGE)
