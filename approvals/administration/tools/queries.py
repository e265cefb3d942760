"""The tools and agents seen so far, read from indexes only, so that the number of requests does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, ToolSettings
from approvals.queries.policy.scopes.visible import seen_by
from approvals.queries.preferences import settings_of_tools
from approvals.queries.suggestions import NAMES, tools_with
from approvals.shown.requests import ShownHeading, shown_heading
from approvals.text.names import fold

PAGE = 50
#: Names, each with its latest request.
_SEEN = (
    NAMES
    + """
    SELECT name, (
        SELECT id FROM {table} WHERE {column} = names.name
        ORDER BY changed_at DESC, id DESC LIMIT 1
    ) FROM names WHERE name IS NOT NULL LIMIT %s
"""
)
_SHOWN = ("id", "title", "kind", "status", "changed_at", "agent", "tool_name", "requested_by", "assigned_to", "scope_set",
          "amount", "control", "key_made_by_id")  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownName:
    """A tool or an agent with its latest request and, for a tool, its settings.

    `visible` is whether scopes let the viewer see that request.
    """

    name: str
    latest: ShownHeading
    visible: bool
    settings: ToolSettings | None = None


def tools_seen(
    viewer: Standing, *, after: str = "", search: str = ""
) -> tuple[list[KnownName], str]:
    """Return a page of tools by name, and the name to continue after; empty on the last page.

    Spellings of one tool are merged under the name in its latest request. A search has one page, of the names that contain it.
    """
    if search:
        named = [latest_of_tool(viewer, fold(name)) for name in tools_with(search)]
        latest = {request.canonical_tool: request for request in named if request}
        names = list(latest)
        more = ""
    else:
        names, latest, more = _seen("canonical_tool", fold(after))
    settings = settings_of_tools(names)
    rows = [(latest[name], settings.get(name)) for name in names]
    return [
        KnownName(
            request.tool_name, shown_heading(request), _within(viewer, request), chosen
        )
        for request, chosen in rows
    ], more


def agents_seen(viewer: Standing, *, after: str = "") -> tuple[list[KnownName], str]:
    """Return a page of agents by name, and the name to continue after; empty on the last page."""
    names, latest, more = _seen("agent", after)
    return [
        KnownName(name, shown_heading(latest[name]), _within(viewer, latest[name]))
        for name in names
    ], more


def latest_of_tool(viewer: Standing, name: str) -> ApprovalRequest | None:
    """Return the latest request of a tool that the viewer may see, with its input; None if there is none."""
    requests = ApprovalRequest.objects.filter(canonical_tool=name).order_by(
        "-changed_at", "-id"
    )
    return (requests.filter(seen_by(viewer)) if viewer.is_limited else requests).first()


def has_asked(name: str) -> bool:
    return ApprovalRequest.objects.filter(canonical_tool=name).exists()


def _within(viewer: Standing, request: ApprovalRequest) -> bool:
    return not viewer.is_limited or permissions.may_see(viewer, request)


def _seen(column: str, after: str) -> tuple[list[str], dict[str, ApprovalRequest], str]:
    with connection.cursor() as cursor:
        cursor.execute(
            _SEEN.format(table=ApprovalRequest._meta.db_table, column=column),
            [after, PAGE + 1],
        )
        rows = [(name, UUID(str(pk))) for name, pk in cursor.fetchall()]
    shown = rows[:PAGE]
    ids = [pk for _name, pk in shown]
    latest_requests = ApprovalRequest.objects.only(*_SHOWN).filter(pk__in=ids)
    requests = {request.pk: request for request in latest_requests}
    latest = {name: requests[pk] for name, pk in shown if pk in requests}
    return list(latest), latest, shown[-1][0] if len(rows) > PAGE else ""
