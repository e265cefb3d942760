"""Lists of suspended, ended and searched workflows, and the contents of one workflow's page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import (
    Case,
    Exists,
    F,
    Model,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from approvals import queries
from approvals.access.standing import Standing
from approvals.db.cursors import take_page
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.queries import PAGE, RequestCursor, WorkflowCursor
from approvals.queries.lists.ended import EndedCursor, ended_in_scope
from approvals.queries.results import ShownResult, results_of
from approvals.queries.search import with_words
from approvals.record.events import RESULTS

M = TypeVar("M", bound=Model)

#: How many of the latest steps of a workflow a row shows.
STEPS = 12
#: How many of the latest ended workflows a search examines.
SEARCHED = 10_000
SUSPENDED = "suspended"
ENDED = "completed"
#: How many requests, and how many audit entries, the page of one workflow shows at once.
SHOWN = 100


@dataclass(frozen=True, slots=True)
class WorkflowPage:
    """A page of workflows, and the cursor of the next one or None."""

    workflows: list[Workflow]
    after: WorkflowCursor | EndedCursor | None


@dataclass(frozen=True, slots=True)
class WorkflowHistory:
    """Requests and audit entries of one workflow, each in order, and the cursors of the earlier ones or None.

    `kinds` are the kinds of the requests in the entries.
    """

    requests: list[ApprovalRequest]
    earlier_requests: RequestCursor | None
    results: Mapping[UUID, ShownResult]
    entries: list[AuditEntry]
    earlier_entries: int | None
    kinds: Mapping[UUID, str]


def history_of(
    viewer: Standing,
    workflow: Workflow,
    *,
    before: RequestCursor | None = None,
    entries_before: int | None = None,
) -> WorkflowHistory:
    """Return the latest requests and audit entries of a workflow that the person may see, or those before cursors."""
    requests, earlier = _requests_before(viewer, workflow, before)
    entries, more = _entries_before(viewer, workflow, entries_before)
    # A page with all entries also has all results. Otherwise they are read by request.
    whole = bool(entries) and not more and entries_before is None
    kinds = {request.pk: request.kind for request in requests}
    others = {entry.request_id for entry in entries if entry.request_id} - kinds.keys()
    if others:
        kinds |= dict(
            ApprovalRequest.objects.filter(pk__in=others).values_list("pk", "kind")
        )
    results = results_of(requests, among=entries if whole else None)
    return WorkflowHistory(
        requests, earlier, results, entries, entries[0].pk if more else None, kinds
    )


def _requests_before(
    viewer: Standing, workflow: Workflow, before: RequestCursor | None
) -> tuple[list[ApprovalRequest], RequestCursor | None]:
    steps = queries.steps_of(viewer, workflow)
    requests = steps if before is None else steps.filter(before.older)
    latest = _latest(requests, Coalesce("created_at", "changed_at").desc(), "-id")
    rows = list(steps.filter(pk__in=latest))
    shown = rows[-SHOWN:]
    more = len(rows) > SHOWN
    return shown, RequestCursor(shown[0].created_at, shown[0].pk) if more else None


def _entries_before(
    viewer: Standing, workflow: Workflow, before: int | None
) -> tuple[list[AuditEntry], bool]:
    """Return entries with the bodies of results, and whether there are earlier ones."""
    trail = queries.trail_of(viewer, workflow)
    older = trail if before is None else trail.filter(pk__lt=before)
    of_result = Case(
        When(event__in=RESULTS, then="body"),
        default=Value(""),
        output_field=TextField(),
    )
    entries = trail.filter(pk__in=_latest(older, (F("pk") + 0).desc())).defer("body")
    rows = list(entries.annotate(**{"short_body": of_result}))
    shown = rows[-SHOWN:]
    for entry in shown:
        if entry.short_body:
            entry.body = entry.short_body
    return shown, len(rows) > SHOWN


def _latest(rows: QuerySet[M], *order: Any) -> QuerySet[M, dict[str, Any]]:
    """Return the keys of the latest rows, one more than are shown.

    Only keys are sorted, because rows may be megabytes long. They are sorted by an expression: to sort by a column, a database
    may walk along its index, over the rows of all workflows, until it has found enough of this one.
    """
    return rows.order_by(*order).values("pk")[: SHOWN + 1]


def cursor_in(text: str) -> WorkflowCursor | EndedCursor | None:
    """Return the cursor in `text` from an address; None if it is invalid."""
    return WorkflowCursor.parse(text) or EndedCursor.parse(text)


def page_of_workflows(
    viewer: Standing,
    which: str,
    *,
    q: str = "",
    after: WorkflowCursor | EndedCursor | None = None,
    limit: int = PAGE,
) -> WorkflowPage:
    """Return a page of suspended workflows, most urgent first, or of ended ones, latest first.

    A cursor of another list gives the first page: scopes may have been added or removed since the previous page.
    """
    if which == ENDED and not q and viewer.scope_sets:
        return _page_in_scope(
            viewer, after if isinstance(after, EndedCursor) else None, limit
        )
    after = after if isinstance(after, WorkflowCursor) else None
    by_which = {
        SUSPENDED: queries.suspended_workflows_for,
        ENDED: queries.ended_workflows_for,
    }
    workflows = with_steps(viewer, by_which[which](viewer, after=after))
    if q:
        workflows = searched(viewer, workflows, q, latest=which == ENDED)
    shown, more = take_page(workflows, limit)
    return WorkflowPage(shown, cursor_of(shown[-1], which) if more else None)


def _page_in_scope(
    viewer: Standing, after: EndedCursor | None, limit: int
) -> WorkflowPage:
    ids, following = ended_in_scope(viewer, after=after, limit=limit)
    by_id = {
        row.pk: row
        for row in with_steps(
            viewer, queries.workflows_for(viewer).filter(pk__in=any_of(ids, int))
        )
    }
    return WorkflowPage([by_id[pk] for pk in ids if pk in by_id], following)


def searched(
    viewer: Standing,
    workflows: QuerySet[Workflow],
    q: str,
    *,
    latest: bool,
    among: Collection[int] | None = None,
) -> QuerySet[Workflow]:
    """Limit a list to workflows with these words in the title or key, or in a request that the person may see.

    `among` has the ids of the possible workflows, if they are few: only their requests are searched then.
    """
    if latest:
        recent = queries.ended_workflows_for(viewer).values("pk")[:SEARCHED]
        workflows = workflows.filter(pk__in=recent)
    requests = queries.requests_for(viewer).order_by()
    if among is None:
        in_requests = Q(pk__in=with_words(requests, q, each=False).values("workflow"))
    else:
        # The first request with the words ends the search of its workflow.
        requests = requests.filter(workflow=OuterRef("pk"), workflow__in=among)
        in_requests = Q(Exists(with_words(requests, q, each=True)))
    # People who may not see the title of the whole workflow cannot find it by the title either.
    return workflows.filter(
        Q(shown_title__icontains=q) | Q(key__icontains=q) | in_requests
    )


def with_steps(viewer: Standing, workflows: QuerySet[Workflow]) -> QuerySet[Workflow]:
    """Prefetch the latest steps of each workflow that the person may see, as `steps`, latest first."""
    steps = (
        queries.requests_for(viewer)
        .select_related(None)
        .only("pk", "workflow_id", "title", "tool_name", "kind", "status")
    )
    latest = steps.order_by("-created_at", "-id")[: STEPS + 1]
    return workflows.prefetch_related(None).prefetch_related(
        Prefetch("requests", queryset=latest, to_attr="steps")
    )  # type: ignore[no-redef]  # declared on the model, to be read


def cursor_of(workflow: Workflow, which: str) -> WorkflowCursor:
    if which == ENDED:
        assert workflow.ended_at is not None
        return WorkflowCursor(0, workflow.ended_at, workflow.pk)
    assert workflow.urgency is not None
    assert workflow.suspended_at is not None
    return WorkflowCursor(workflow.urgency, workflow.suspended_at, workflow.pk)


def steps_shown(workflow: Workflow) -> tuple[list[ApprovalRequest], bool]:
    """Return the steps of a workflow from `with_steps` in order, and whether there are earlier ones."""
    steps: list[ApprovalRequest] = workflow.steps
    return steps[STEPS - 1 :: -1] if len(steps) > STEPS else steps[::-1], len(
        steps
    ) > STEPS
