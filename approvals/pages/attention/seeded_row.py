"""The row of a seeded check in the Inbox, among the requests that wait."""

from __future__ import annotations

from dataclasses import replace

from approvals.access.standing import Standing
from approvals.pages.lists.inbox_rows import Group, InboxRow, rows_for
from approvals.queries.attention.seeded import as_request, waiting_check_of
from approvals.queries.sections import WAITING


def with_check(viewer: Standing, groups: list[Group]) -> list[Group]:
    """Return the sections with the check that waits for this person, in the order of what waits."""
    check = waiting_check_of(viewer)
    if check is None:
        return groups
    (row,) = rows_for(viewer, [as_request(check)])
    row = replace(row, pickable=False)
    return [
        Group(group.heading, _inserted(group.rows, row), group.name) if group.name == WAITING else group
        for group in groups
    ]


def _inserted(rows: list[InboxRow], row: InboxRow) -> list[InboxRow]:
    place = sum(_order(other) <= _order(row) for other in rows)
    return [*rows[:place], row, *rows[place:]]


def _order(row: InboxRow) -> tuple[int, float]:
    return row.request.urgency, row.request.created_at.timestamp()
