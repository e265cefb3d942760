"""The workflows of the Workflows page: suspended or ended, searched, with the steps of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from approvals import queries
from approvals.access.permissions import sees_everything
from approvals.models import ApprovalRequest, Workflow
from approvals.queries import PAGE, WorkflowCursor
from approvals.queries.search import with_words

#: How many steps of a workflow a row shows, the latest.
STEPS = 12
#: How many ended workflows a search looks at, the latest.
SEARCHED = 10_000
SUSPENDED, ENDED = "suspended", "completed"


@dataclass(frozen=True, slots=True)
class WorkflowPage:
    """A page of workflows, and the cursor of the next one or None."""

    workflows: list[Workflow]
    after: WorkflowCursor | None


def page_of_workflows(
    user: User, which: str, *, q: str = "", after: WorkflowCursor | None = None, limit: int = PAGE
) -> WorkflowPage:
    """Return a page of suspended workflows, most urgent first, or of ended ones, latest first."""
    by_which = {SUSPENDED: queries.suspended_workflows_for, ENDED: queries.ended_workflows_for}
    found = with_steps(user, by_which[which](user, after=after))
    if q:
        found = searched(user, found, q, latest=which == ENDED)
    rows = list(found[: limit + 1])
    shown, more = rows[:limit], len(rows) > limit
    return WorkflowPage(shown, cursor_of(shown[-1], which) if more else None)


def searched(
    user: User, found: QuerySet[Workflow], q: str, *, latest: bool, among: Collection[int] | None = None
) -> QuerySet[Workflow]:
    """Limit a list to workflows with these words in the title or key, or in a request that the person may see.

    `among` has the ids of the workflows that `found` can have, if they are few: only their requests are searched then.
    """
    if latest:
        recent = queries.ended_workflows_for(user).values("pk")[:SEARCHED]
        found = found.filter(pk__in=recent)
    requests = queries.requests_for(user).order_by()
    if among is None:
        in_requests = Q(pk__in=with_words(requests, q, each=False).values("workflow"))
    else:
        # The first request with the words ends the search of its workflow.
        requests = requests.filter(workflow=OuterRef("pk"), workflow__in=among)
        in_requests = Q(Exists(with_words(requests, q, each=True)))
    # Who may not see the title of the whole workflow does not find it by that either.
    title = "title__icontains" if sees_everything(user) else "seen_title__icontains"
    return found.filter(Q(**{title: q}) | Q(key__icontains=q) | in_requests)


def with_steps(user: User, found: QuerySet[Workflow]) -> QuerySet[Workflow]:
    """Add to each workflow its latest steps that the person may see, in `steps`, latest first."""
    steps = queries.requests_for(user).select_related(None).only("pk", "workflow_id", "title", "kind", "status")
    latest = steps.order_by("-created_at", "-id")[: STEPS + 1]
    return found.prefetch_related(None).prefetch_related(Prefetch("requests", queryset=latest, to_attr="steps"))  # type: ignore[no-redef]  # declared on the model, to be read


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
    return steps[STEPS - 1 :: -1] if len(steps) > STEPS else steps[::-1], len(steps) > STEPS
