"""A request as a line of the list: what it is about in a few words, and whether it can be picked."""

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
from approvals.queries.filters import Lens
from approvals.queries.request_list import COLUMNS, GIST
from approvals.runtime.text import visible, visible_name
from approvals.states import Kind

#: Of one value in a line.
SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What `approvals/inbox/_row.html` shows; `pickable` where the person may decide it now, with others."""

    request: ApprovalRequest
    decision: Decision | None
    pickable: bool

    @property
    def version(self) -> str:
        """Changes whenever the request does."""
        return f"{self.request.status}-{self.request.changed_at.timestamp()}"

    @property
    def pick(self) -> str:
        """What the box sends: which request, and what was shown of it."""
        return f"{self.request.pk}:{self.request.input_digest}"

    @property
    def gist(self) -> str:
        """The input as names and values, or what a question says; its beginning, where it is long."""
        if self.request.kind in {Kind.QUESTION, Kind.FORM}:
            return visible(" ".join(getattr(self.request, "opening", "").split()))
        return _gist(getattr(self.request, "gist", ""))


@dataclass(frozen=True, slots=True)
class Group:
    """Lines under one heading; no heading where the list is not grouped."""

    heading: str
    lines: list[Line]


def line_for(user: User, request: ApprovalRequest) -> Line:
    """The line of a request that `triage.listed` has read."""
    return Line(
        request=request,
        decision=getattr(request, "decision", None),
        pickable=_may_be_picked(user, request),
    )


def _may_be_picked(user: User, request: ApprovalRequest) -> bool:
    return request.pending and not permissions.only_on_own_pages(request) and permissions.may_close(user, request)


def grouped(user: User, rows: list[ApprovalRequest], lens: Lens) -> list[Group]:
    """The lines of a page under their headings."""
    lines = [line_for(user, row) for row in rows]
    if not lens.group:
        return [Group("", lines)] if lines else []
    column = COLUMNS[lens.group]
    sections = groupby(lines, key=lambda line: getattr(line.request, column))
    return [Group(_heading(user, found, lens), found) for found in (list(lines) for _key, lines in sections)]


def _heading(user: User, lines: Sequence[Line], lens: Lens) -> str:
    request = lines[0].request
    if lens.group == "workflow":
        return queries.workflow_title_for(user, request, several=len(lines) > 1)
    if lens.group == "tool":
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
    return visible(text) if len(text) <= SHOWN else f"{visible(text[:SHOWN])}…"
