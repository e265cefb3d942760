"""The rows of the inbox in groups, under headings or in sections."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.conf import settings as site_settings
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access.standing import Standing
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.lists.inbox_rows import InboxRow, ShownRow, rows_for
from approvals.queries.filters import Filters
from approvals.queries.request_list import COLUMNS
from approvals.queries.sections import EXPIRING, MINE, RECENT, VOTED, WAITING
from approvals.text.text import visible


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows under one heading, empty if the list is neither grouped nor in sections; `name` is that of a section."""

    heading: str
    rows: list[InboxRow]
    name: str = ""

    @property
    def shown(self) -> ShownGroup:
        return ShownGroup(self.heading, [row.shown for row in self.rows], self.name)


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group for the template."""

    heading: str
    rows: Sequence[ShownRow]
    name: str


def fold_alike(rows: Sequence[InboxRow]) -> list[InboxRow]:
    """Merge more than HITL_FLOOD similar waiting rows into one, in the place of the first of them."""
    if not site_settings.HITL_FLOOD:
        return list(rows)
    by_likeness: dict[Hashable, list[InboxRow]] = {}
    for row in rows:
        by_likeness.setdefault(row.likeness, []).append(row)
    folded: list[InboxRow] = []
    for row in rows:
        like = by_likeness[row.likeness]
        if row.likeness is None or len(like) <= site_settings.HITL_FLOOD:
            folded.append(row)
        elif like[0] is row:
            folded.append(replace(row, alike=tuple(like[1:])))
    return folded


def headings() -> dict[str, str]:
    """Return the headings of the sections, in page order."""
    return {
        EXPIRING: _("Expiring soon"),
        MINE: _("Assigned to you"),
        WAITING: _("Waiting"),
        VOTED: _("Waiting for others"),
        RECENT: _("Recently decided"),
    }


def section_rows(
    viewer: Standing,
    shared: BatchCache,
    sections: Mapping[str, Sequence[ApprovalRequest]],
    *,
    first: bool,
) -> list[RowGroup]:
    """Return a page of rows in sections, including empty ones for new requests.

    On the first page, requests that wait for others come below the waiting ones. Later pages only continue the latter.
    """
    requests = [request for section in sections.values() for request in section]
    every = rows_for(viewer, shared, requests)
    by_id = {row.request.pk: row for row in every}
    rows = {
        name: [by_id[request.pk] for request in sections.get(name, ())]
        for name in headings()
    }
    if first:
        rows |= {
            name: [row for row in rows[name] if row.section != VOTED]
            for name in (EXPIRING, MINE, WAITING)
        }
        rows[VOTED] = [row for row in every if row.section == VOTED]
    return [
        RowGroup(heading, fold_alike(rows[name]), name)
        for name, heading in headings().items()
    ]


def group_rows(
    viewer: Standing,
    shared: BatchCache,
    requests: list[ApprovalRequest],
    filters: Filters,
) -> list[RowGroup]:
    """Return the rows of a page under their headings."""
    rows = rows_for(viewer, shared, requests)
    if not filters.group:
        return [RowGroup("", fold_alike(rows), WAITING)]
    column = COLUMNS[filters.group]
    groups = [
        list(group)
        for _key, group in groupby(rows, key=lambda row: getattr(row.request, column))
    ]
    return [
        RowGroup(_heading(viewer, group, filters), fold_alike(group))
        for group in groups
    ]


def _heading(viewer: Standing, rows: Sequence[InboxRow], filters: Filters) -> str:
    request = rows[0].request
    if filters.group == "workflow":
        return queries.workflow_title_for(viewer, request, several=len(rows) > 1)
    if filters.group == "tool":
        return visible(request.tool_name) or _("No tool")
    return visible(request.agent) or _("No agent")
