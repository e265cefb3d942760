"""The rows of the inbox: a request in a few words, and whether it can be selected for a bulk decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access import permissions
from approvals.models import ApprovalRequest, Decision
from approvals.queries.filters import Filters
from approvals.queries.request_list import COLUMNS, GIST
from approvals.runtime.text import visible, visible_name
from approvals.states import Kind

#: How many characters of one value a row shows.
MAX_VALUE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """The context of `approvals/inbox/_row.html`; `pickable` if the person may decide it now in a bulk decision."""

    request: ApprovalRequest
    decision: Decision | None
    pickable: bool

    @property
    def version(self) -> str:
        """Changes whenever the request does."""
        return f"{self.request.status}-{self.request.changed_at.timestamp()}"

    @property
    def pick(self) -> str:
        """The value of the checkbox: the request's id and the digest of the input that the row shows."""
        return f"{self.request.pk}:{self.request.input_digest}"

    @property
    def gist(self) -> str:
        """The beginning of the input as names and values, or of a question's message."""
        if self.request.kind in {Kind.QUESTION, Kind.FORM}:
            return visible(" ".join(self.request.opening.split()))
        return _gist(self.request.gist)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under one heading, which is empty if the list is not grouped."""

    heading: str
    rows: list[InboxRow]


def row_for(user: User, request: ApprovalRequest) -> InboxRow:
    """Return the row of a request that `request_list.listed` has read."""
    return InboxRow(
        request=request,
        decision=getattr(request, "decision", None),
        pickable=_may_be_picked(user, request),
    )


def _may_be_picked(user: User, request: ApprovalRequest) -> bool:
    return request.pending and not permissions.only_on_own_pages(request) and permissions.may_close(user, request)


def group_rows(user: User, requests: list[ApprovalRequest], filters: Filters) -> list[Group]:
    """Return the rows of a page under their headings."""
    rows = [row_for(user, request) for request in requests]
    if not filters.group:
        return [Group("", rows)] if rows else []
    column = COLUMNS[filters.group]
    sections = [list(found) for _key, found in groupby(rows, key=lambda row: getattr(row.request, column))]
    return [Group(_heading(user, found, filters), found) for found in sections]


def _heading(user: User, rows: Sequence[InboxRow], filters: Filters) -> str:
    request = rows[0].request
    if filters.group == "workflow":
        return queries.workflow_title_for(user, request, several=len(rows) > 1)
    if filters.group == "tool":
        return visible(request.tool_name) or _("No tool")
    return visible(request.agent) or _("No agent")


def _gist(text: str) -> str:
    if len(text) >= GIST:
        return f"{' '.join(visible(text).split())} …"
    value: Any = json.loads(text) if text else {}
    if not isinstance(value, dict):
        return _short(value)
    return " · ".join(f"{visible_name(name)} {_short(item)}" for name, item in value.items())


def _short(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return visible(text) if len(text) <= MAX_VALUE else f"{visible(text[:MAX_VALUE])}…"
