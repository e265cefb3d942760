"""Entries of the audit page: filtered, latest first by an index, and paginated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import BooleanField, Case, Q, QuerySet, TextField, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Length
from django.db.models.lookups import LessThanOrEqual

from approvals.db.cursors import number_from
from approvals.models import (
    ApprovalRequest,
    AuditEntry,
    SavedView,
    ToolSettings,
    Vote,
    Workflow,
)
from approvals.models.preferences import ListPage
from approvals.queries.amounts import has_visible_amount, with_amounts
from approvals.queries.audit_filters import AuditCursor, AuditFilters
from approvals.queries.described import description
from approvals.queries.lists.saved_views import views_for
from approvals.queries.policy.votes.ballots import votes_by_request
from approvals.queries.preferences import settings_of_tools
from approvals.queries.search import with_words_of_requests
from approvals.queries.suggestions import NAMES
from approvals.text.names import fold

PAGE = 50
#: A search for frequent words or amounts examines this many entries per page, and then offers to continue.
SCANNED = 20_000
#: Longer bodies are not read for a list, because one may be megabytes long; the row then shows no values.
MAX_BODY = 20_000
#: Maximum number of saved reports shown.
MAX_REPORTS = 50
TABLE = AuditEntry._meta.db_table
#: Number of tool names searched for spellings of one.
MAX_SPELLINGS = 10_000
_SPELLINGS = (
    NAMES.format(table=TABLE, column="tool_name")
    + "SELECT name FROM names WHERE name IS NOT NULL LIMIT %s"
)


@dataclass(frozen=True, slots=True)
class Subjects:
    """The subjects of a page's entries, as far as they still exist, the settings of their tools, and the votes that decided."""

    requests: dict[UUID, ApprovalRequest]
    workflows: dict[tuple[str, str], Workflow]
    tools: dict[str, ToolSettings]
    votes: Mapping[UUID, Sequence[Vote]]


def entries_for(filters: AuditFilters) -> QuerySet[AuditEntry]:
    """Return all entries that match the filters, unsorted."""
    return _matching(filters)[0]


def _matching(filters: AuditFilters) -> tuple[QuerySet[AuditEntry], bool]:
    """Return the matching entries, and whether finding them scans those that match the other filters."""
    exact = {
        "event": filters.event,
        "verdict": filters.verdict,
        "actor_name": filters.person,
        "request_id": filters.request,
        "thread_id": filters.chat,
        "at__gte": filters.begin,
        "at__lt": filters.end,
    }
    entries = AuditEntry.objects.filter(
        **{lookup: value for lookup, value in exact.items() if value}
    )
    if filters.tool:
        entries = entries.filter(of_tool(filters.tool))
    if filters.verdict:
        # As a constant: with a parameter, neither database could use its partial index.
        entries = entries.filter(RawSQL(f"{TABLE}.verdict > ''", [], BooleanField()))  # noqa: S611 - a constant
    if filters.workflow:
        entries = _of_workflows(
            entries, Workflow.objects.filter(pk=number_from(filters.workflow) or 0)
        )
    if filters.run:
        entries = _of_workflows(entries, Workflow.objects.filter(key=filters.run))
    scans = set()
    if filters.q:
        entries, scanned = with_words_of_requests(entries, filters.q)
        scans.add(scanned)
    if filters.amounts:
        entries, scanned = with_amounts(entries, filters.amounts)
        scans.add(scanned)
    # A filter with few matches limits the scan of the other.
    return entries, scans == {True}


def of_tool(tool: str) -> Q:
    """Return the condition of entries about a tool, which keep their original spelling."""
    canonical = fold(tool)
    with connection.cursor() as cursor:
        cursor.execute(_SPELLINGS, ["", MAX_SPELLINGS])
        spellings = [name for (name,) in cursor.fetchall() if fold(name) == canonical]
    # A single name is left to the planners.
    return (
        Q(tool_name__in=spellings)
        if len(spellings) > 1
        else Q(tool_name=next(iter(spellings), tool))
    )


def _of_workflows(
    entries: QuerySet[AuditEntry], workflows: QuerySet[Workflow]
) -> QuerySet[AuditEntry]:
    """Filter for the entries of these workflows, by the index over scope and run."""
    wanted = Q(pk__in=[])
    for scope, key in workflows.values_list("scope", "key")[:PAGE]:
        wanted |= Q(scope=scope, run_id=key)
    return entries.filter(wanted)


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, latest first, with `short_body` on each, and the cursor of the next page or None.

    `searched_until` is set if the search stopped before it had a full page of hits.
    """

    entries: list[AuditEntry]
    next: AuditCursor | None
    searched_until: datetime | None = None


def page_of(filters: AuditFilters) -> AuditPage:
    """Return one page of the matching entries. A scanning search stops after SCANNED entries, found or not."""
    matching, scans = _matching(filters)
    last = None
    if scans:
        others = _after(
            _matching(replace(filters, q="", amount_from="", amount_to=""))[0],
            filters.after,
        ).order_by("-at", "-pk")
        last = others.values_list("at", "pk")[SCANNED : SCANNED + 1].first()
    if last is not None:
        matching = matching.filter(_compared(">=", AuditCursor(*last)))
    entries = _after(matching, filters.after).order_by("-at", "-pk")
    rows = list(for_lines(entries)[: PAGE + 1])
    if len(rows) <= PAGE:
        return (
            AuditPage(rows, AuditCursor(*last), last[0])
            if last is not None
            else AuditPage(rows, None)
        )
    return AuditPage(rows[:PAGE], AuditCursor(rows[PAGE - 1].at, rows[PAGE - 1].pk))


def _after(
    entries: QuerySet[AuditEntry], cursor: AuditCursor | None
) -> QuerySet[AuditEntry]:
    return entries if cursor is None else entries.filter(_compared("<", cursor))


def _compared(sign: str, cursor: AuditCursor) -> RawSQL:
    """Return a row comparison with a cursor, for which both databases use the index."""
    at = connection.ops.adapt_datetimefield_value(cursor.at)
    compared = f"({TABLE}.at, {TABLE}.id) {sign} (%s, %s)"
    return RawSQL(compared, [at, cursor.pk], BooleanField())  # noqa: S611


def for_lines(entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Read entries with `short_body` in place of the body, for `subjects_of` and lines."""
    return entries.defer("body").annotate(**{"short_body": _short("body")})


def _short(column: str) -> Case:
    """Return the text of a column if it is short, else ""."""
    text = Cast(column, TextField())
    return Case(
        When(LessThanOrEqual(Length(text), MAX_BODY), then=text),
        default=Value(""),
        output_field=TextField(),
    )


def subjects_of(entries: Collection[AuditEntry]) -> Subjects:
    """Return the requests, workflows, tool settings and votes of these entries, in three reads; four if there were votes."""
    ids = {entry.request_id for entry in entries if entry.request_id}
    requests = (
        ApprovalRequest.objects.filter(pk__in=ids)
        .only("title", "kind", "input_digest", "secrets", "amount_pointer", "terms")
        .annotate(
            **{
                "short_input": _short("input"),
                "described": description(),
                "amount_is_shown": has_visible_amount("pk"),
            }
        )
    )
    keys = {(entry.scope, entry.run_id) for entry in entries if entry.run_id}
    workflows = Workflow.objects.filter(
        scope__in={scope for scope, _ in keys}, key__in={key for _, key in keys}
    )
    by_id = {request.pk: request for request in requests}
    voted = [pk for pk, request in by_id.items() if request.takes_votes]
    return Subjects(
        by_id,
        {(workflow.scope, workflow.key): workflow for workflow in workflows},
        settings_of_tools({entry.tool_name for entry in entries}),
        votes_by_request(voted),
    )


def reports_for(user: User) -> list[SavedView]:
    """Return a person's saved reports, own ones first, and those that others share."""
    return views_for(user, ListPage.AUDIT, MAX_REPORTS)
