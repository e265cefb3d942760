"""The sections of the inbox: requests that expire soon, are assigned to the reader, are otherwise waiting, or were decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigAutoField, DateTimeField, Q, QuerySet
from django.utils import timezone

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import ApprovalRequest
from approvals.queries import request_list
from approvals.queries.filters import OVER, Filters, ListCursor
from approvals.queries.lists.orders import (
    BY_DEADLINES,
    MOST_URGENT,
    SortedPart,
    parts_of,
)
from approvals.queries.request_list import PAGE
from approvals.queries.search import Hits

EXPIRING, MINE, WAITING, RECENT = SECTIONS = "expiring", "mine", "waiting", "recent"
#: On the first page: requests that need votes, but not the reader's.
VOTED = "voted"
#: A deadline this near puts a request on top, whatever its priority.
SOON = timedelta(hours=1)
RECENT_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Sections:
    """The rows of a page by section, and the cursor of its next page."""

    rows: dict[str, list[ApprovalRequest]]
    after: ListCursor | None


def section_of(viewer: Standing, request: ApprovalRequest) -> str:
    """Return a request's section for this person."""
    if not request.pending:
        return RECENT
    if request.deadline_at is not None and request.deadline_at <= timezone.now() + SOON:
        return EXPIRING
    return MINE if request.assigned_to_id == viewer.pk else WAITING


def sections_of(
    viewer: Standing, filters: Filters, *, hits: Hits | None = None
) -> Sections:
    """Return a page of waiting requests in sections. Later pages have only the section of otherwise waiting requests."""
    if filters == Filters() and viewer.is_active:
        return _first_page(viewer)
    parts = _parts(viewer.pk, timezone.now() + SOON)
    waiting, after = request_list.page_of(
        viewer, filters, only=parts[WAITING].rows, hits=hits
    )
    sections = {WAITING: waiting}
    if filters.after is None:
        for name in (EXPIRING, MINE):
            sections[name] = request_list.first_rows(
                viewer, filters, parts[name], PAGE, hits=hits
            )
        if filters.plain:
            over = replace(filters, status=OVER)
            sections[RECENT] = request_list.first_rows(
                viewer, over, parts_of(over)[0], RECENT_SHOWN
            )
    return Sections({name: sections.get(name, []) for name in SECTIONS}, after)


def _parts(
    person: int | Parameter, soon: datetime | Parameter
) -> dict[str, SortedPart]:
    """Return the sections of waiting requests."""
    near = Q(deadline_at__lte=soon)
    rest = Q(deadline_at__isnull=True) | ~near
    mine = Q(assigned_to=person)
    others = Q(assigned_to__isnull=True) | ~Q(assigned_to=person)
    return {
        EXPIRING: SortedPart(BY_DEADLINES[0].order, near),
        MINE: SortedPart(MOST_URGENT, rest & mine),
        WAITING: SortedPart(MOST_URGENT, rest & others),
    }


def _prepare(
    name: str, scope_sets: Parameter | None = None
) -> Prepared[ApprovalRequest]:
    """Prepare the query of one section of the most frequent page, the inbox without filters."""
    person = Parameter("person", BigAutoField())
    now = Parameter("now", DateTimeField())

    def rows(
        filters: Filters, part: SortedPart, limit: int
    ) -> QuerySet[ApprovalRequest]:
        return request_list.prepared_rows(
            filters, part, limit, person=person, scope_sets=scope_sets, now=now
        )

    def build() -> QuerySet[ApprovalRequest]:
        if name == RECENT:
            over = Filters(status=OVER)
            return rows(over, parts_of(over)[0], RECENT_SHOWN)
        part = _parts(person, Parameter("soon", DateTimeField()))[name]
        return rows(Filters(), part, PAGE + (name == WAITING))

    return Prepared(build)


#: The sections of the inbox for people who see everything.
_OF_EVERYTHING = {name: _prepare(name) for name in SECTIONS}
#: The same for others. Assigned requests are the same for both.
_OF_SOME = {
    name: _prepare(name, Parameter("scope_sets", Values())) for name in SECTIONS
} | {MINE: _OF_EVERYTHING[MINE]}


def _first_page(viewer: Standing) -> Sections:
    """Return the first page of the inbox without filters."""
    now = timezone.now()
    values: dict[str, Any] = {"person": viewer.pk, "now": now, "soon": now + SOON}
    if permissions.sees_everything(viewer):
        prepared = _OF_EVERYTHING
    else:
        prepared, values["scope_sets"] = _OF_SOME, viewer.scope_sets
    sections = {name: query.all(**values) for name, query in prepared.items()}
    more, sections[WAITING] = len(sections[WAITING]) > PAGE, sections[WAITING][:PAGE]
    return Sections(
        sections,
        request_list.cursor_of(sections[WAITING][-1], Filters()) if more else None,
    )
