"""The entries of the audit page: filtered, latest first by an index, and paginated."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import connections
from django.db.models import BooleanField, Case, Q, QuerySet, TextField, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Length
from django.db.models.lookups import LessThanOrEqual

from approvals.models import ApprovalRequest, AuditEntry, ToolSettings, Workflow
from approvals.queries.audit_filters import AuditCursor, AuditFilters
from approvals.queries.search import with_words_of_requests
from approvals.runtime.cursors import number_from

PAGE = 50
#: Longer bodies are not read for a list: one may be megabytes long. The row then shows no values.
MAX_BODY = 20_000
TABLE = AuditEntry._meta.db_table


@dataclass(frozen=True, slots=True)
class Subjects:
    """What the entries of a page are about, as far as it still exists; and the key fields of their tools."""

    requests: dict[UUID, ApprovalRequest]
    workflows: dict[tuple[str, str], Workflow]
    key_fields: dict[str, list[str]]


def entries_for(filters: AuditFilters) -> QuerySet[AuditEntry]:
    """Return the entries that match the filters, unsorted and of all pages."""
    exact = {
        "event": filters.event,
        "verdict": filters.verdict,
        "actor_name": filters.person,
        "tool_name": filters.tool,
        "request_id": filters.request,
        "thread_id": filters.chat,
        "at__gte": filters.begin,
        "at__lt": filters.end,
    }
    found = AuditEntry.objects.filter(**{lookup: value for lookup, value in exact.items() if value})
    if filters.workflow:
        found = _of_workflows(found, Workflow.objects.filter(pk=number_from(filters.workflow)))
    if filters.run:
        found = _of_workflows(found, Workflow.objects.filter(key=filters.run))
    return with_words_of_requests(found, filters.q) if filters.q else found


def _of_workflows(found: QuerySet[AuditEntry], workflows: QuerySet[Workflow]) -> QuerySet[AuditEntry]:
    """Filter for the entries of these workflows, by the index over scope and run."""
    wanted = Q(pk__in=[])
    for scope, key in workflows.values_list("scope", "key")[:PAGE]:
        wanted |= Q(scope=scope, run_id=key)
    return found.filter(wanted)


def page_of(filters: AuditFilters) -> tuple[list[AuditEntry], AuditCursor | None]:
    """Return one page, latest first, with `short_body` on each entry, and the cursor of the next page or None."""
    found = entries_for(filters).order_by("-at", "-pk").defer("body")
    if filters.after is not None:
        found = found.filter(_after(found, filters.after))
    rows = list(found.annotate(short_body=_short("body"))[: PAGE + 1])
    shown, more = rows[:PAGE], len(rows) > PAGE
    return shown, AuditCursor(shown[-1].at, shown[-1].pk) if more else None


def _short(column: str) -> Case:
    """Return the text of a column if it is short, else ""."""
    text = Cast(column, TextField())
    return Case(When(LessThanOrEqual(Length(text), MAX_BODY), then=text), default=Value(""), output_field=TextField())


def _after(found: QuerySet[AuditEntry], cursor: AuditCursor) -> RawSQL:
    """Return a condition for the entries after a cursor: a row comparison, for which both databases use the index."""
    at = connections[found.db].ops.adapt_datetimefield_value(cursor.at)
    condition = f"({TABLE}.at, {TABLE}.id) < (%s, %s)"
    return RawSQL(condition, [at, cursor.pk], BooleanField())  # noqa: S611 - column names and parameters


def subjects_of(entries: Collection[AuditEntry]) -> Subjects:
    """Return the requests, workflows and settings of tools that these entries name, in three reads."""
    ids = {entry.request_id for entry in entries if entry.request_id}
    requests = ApprovalRequest.objects.filter(pk__in=ids).only("title", "kind").annotate(short_input=_short("input"))
    keys = {(entry.scope, entry.run_id) for entry in entries if entry.run_id}
    workflows = Workflow.objects.filter(scope__in={scope for scope, _ in keys}, key__in={key for _, key in keys})
    tools = ToolSettings.objects.filter(tool_name__in={entry.tool_name for entry in entries if entry.tool_name})
    return Subjects(
        {request.pk: request for request in requests},
        {(workflow.scope, workflow.key): workflow for workflow in workflows},
        dict(tools.values_list("tool_name", "key_fields")),
    )
