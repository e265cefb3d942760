"""Named views of the inbox for a person: their own, and those that others share."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from django.contrib.auth.models import User
from django.db.models import Case, Q, Value, When
from django.http import QueryDict

from approvals.access.standing import Standing
from approvals.exceptions import Invalid
from approvals.models import SavedView
from approvals.models.preferences import ListPage
from approvals.queries import COUNT_LIMIT, request_list
from approvals.queries.filters import Filters, filters_from
from approvals.text.names import fold


def views_for(
    user: User, page: ListPage = ListPage.INBOX, limit: int = 30
) -> list[SavedView]:
    """Return the saved views of a page for a person, own ones first, each by name, and those that others share."""
    own = Case(When(owner=user.pk, then=Value(0)), default=Value(1))
    views = SavedView.objects.filter(
        Q(owner=user.pk) | Q(shared=True), page=page
    ).select_related("owner")
    return list(views.order_by(own, "name", "pk")[:limit])


def filters_of(view: SavedView) -> Filters | None:
    """Return the filters of a view; None if they are no longer valid."""
    try:
        return filters_from(QueryDict(view.query.removeprefix("?")))
    except Invalid:
        return None


def counts_of(viewer: Standing, views: list[SavedView]) -> dict[int, int]:
    """Return how many requests each view shows this person, at most `queries.COUNT_LIMIT`, by the id of the view."""
    filters_by_view = {view.pk: filters_of(view) for view in views}
    return {
        pk: request_list.count_of(viewer, filters)
        for pk, filters in filters_by_view.items()
        if filters is not None
    }


def suggested_values(
    viewer: Standing, filters: Filters, name: str, limit: int = 50
) -> list[tuple[str, int]]:
    """Return the most frequent values of a filter among the requests that match the others, with their counts.

    Only up to the limit of a count are examined.
    """
    column = {
        "tool": "tool_name",
        "agent": "agent",
        "person": "requested_by__username",
        "by": "decision__by_name",
    }[name]
    requests = request_list.matching(viewer, replace(filters, after=None, **{name: ""}))
    values = requests.order_by().values_list(column, flat=True)[:COUNT_LIMIT]
    counted = Counter(filter(None, values))
    if name == "tool":
        counted = _joined(counted)
    return counted.most_common(limit)


def _joined(counted: Counter[str]) -> Counter[str]:
    """Merge the spellings of a tool, under the most frequent one."""
    spellings: dict[str, str] = {}
    joined = Counter[str]()
    for name, number in counted.most_common():
        joined[spellings.setdefault(fold(name), name)] += number
    return joined
