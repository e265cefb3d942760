"""Ended workflows for people limited by scopes; docs/decisions/scopes.md explains the order.

A person's own workflow is sorted by its end; any other by the end of the last request in it that they may see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals.access.standing import Standing
from approvals.db.cursors import Cursor
from approvals.db.literal import literal
from approvals.models import ApprovalRequest, Workflow
from approvals.queries.policy.scopes.first_rows import (
    ASSIGNED,
    IN_SCOPE,
    first_of,
    reader,
)
from approvals.queries.policy.scopes.visible import steps_for
from approvals.states import Status

#: Requests per statement, and maximum number of such statements per page.
CHUNK = 200
ROUNDS = 5
_ORDER = ("-changed_at", "-id")
_Row = tuple[datetime, UUID, int, datetime | None, int, bool]


@dataclass(frozen=True, slots=True)
class EndedCursor(Cursor):
    """The cursor behind one of the person's own workflows, by id and end, or behind a request, likewise."""

    at: datetime
    key: int | UUID


class _SortKey(NamedTuple):
    """Sorts workflows; at the same moment, the person's own come first."""

    at: datetime
    own: bool
    key: int | UUID
    workflow: int

    @property
    def cursor(self) -> EndedCursor:
        return EndedCursor(self.at, self.key)


def ended_in_scope(
    viewer: Standing, *, after: EndedCursor | None, limit: int
) -> tuple[list[int], EndedCursor | None]:
    """Return the ids of the next workflows, latest first, and the cursor of those that follow.

    Every workflow is on one page. A page may be short, even empty, if many requests of the person are in few workflows.
    """
    keys, reached = _in_scope(viewer, after, limit)
    keys = sorted([*keys, *_own(viewer, after, limit)], reverse=True)
    if reached is not None:
        # Later ones may come after requests that were not read yet.
        keys = [key for key in keys if key >= reached]
    shown = keys[:limit]
    following = shown[-1] if len(keys) > limit else reached
    return [key.workflow for key in shown], following and following.cursor


def _own(viewer: Standing, after: EndedCursor | None, limit: int) -> Iterable[_SortKey]:
    workflows = Workflow.objects.filter(owner=viewer.pk, ended_at__isnull=False)
    if after is not None:
        same = (
            Q(ended_at=after.at, pk__lt=after.key)
            if isinstance(after.key, int)
            else Q(pk__in=[])
        )
        workflows = workflows.filter(ended_at__lte=after.at).filter(
            Q(ended_at__lt=after.at) | same
        )
    rows = workflows.order_by("-ended_at", "-id").values_list("ended_at", "pk")[
        : limit + 1
    ]
    return [_SortKey(at, True, pk, pk) for at, pk in rows if at is not None]


def _in_scope(
    viewer: Standing, after: EndedCursor | None, limit: int
) -> tuple[list[_SortKey], _SortKey | None]:
    """Return more than `limit` workflows of others by their last request, if possible, and the last request that was read.

    None instead of the latter if all were read.
    """
    keys: list[_SortKey] = []
    reached: _SortKey | None = None
    for _ in range(ROUNDS):
        rows = list(next_requests(viewer, after))
        for at, pk, workflow, ended_at, owner, followed in rows:
            reached = _SortKey(at, False, pk, workflow)
            if ended_at is not None and owner != viewer.pk and not followed:
                keys.append(reached)
        if len(rows) < CHUNK or reached is None:
            return keys, None
        if len(keys) > limit:
            break
        after = reached.cursor
    return keys, reached


def next_requests(
    viewer: Standing, after: EndedCursor | None
) -> QuerySet[ApprovalRequest, _Row]:
    """Return the next ended requests, latest first, with their workflow, and whether the person sees a later one in it."""
    ended = ~Q(status=literal(Status.PENDING))
    if after is not None:
        ended &= Q(changed_at__lte=after.at)
        # At the moment of an own workflow, all requests are still to come.
        if isinstance(after.key, UUID):
            ended &= Q(changed_at__lt=after.at) | Q(pk__lt=after.key)
    requests = ApprovalRequest.objects.order_by()
    page = first_of(
        requests.filter(ended),
        reader(viewer),
        _ORDER,
        CHUNK,
        waiting=False,
        reasons=[ASSIGNED, IN_SCOPE],
    )
    later = requests.filter(
        steps_for(viewer),
        workflow=OuterRef("workflow"),
        changed_at__gte=OuterRef("changed_at"),
    )
    later = later.filter(
        Q(changed_at__gt=OuterRef("changed_at")) | Q(pk__gt=OuterRef("pk"))
    )
    columns = ("changed_at", "pk", "workflow", "workflow__ended_at", "workflow__owner")
    return requests.filter(page).order_by(*_ORDER).values_list(*columns, Exists(later))
