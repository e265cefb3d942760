"""Pages about workflows: the dashboard, the completed workflows, and one workflow with its requests."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from approvals import queries
from approvals.http import SignedIn, refusals_as_pages
from approvals.pages.cards import card_for
from approvals.pages.context import counts, ended_cursor, suspended_cursor, workflow_card
from approvals.queries.results import results_of

COMPLETED_SHOWN = 20


@require_GET
def dashboard(request: SignedIn) -> HttpResponse:
    rendered_at = timezone.now()
    after = queries.WorkflowCursor.parse(request.GET.get("after", ""))
    page = list(queries.suspended_workflows_for(request.user, after=after)[: queries.PAGE + 1])
    suspended, more = page[: queries.PAGE], len(page) > queries.PAGE
    context = {
        "rendered_at": rendered_at,
        "after": after,
        "suspended": [workflow_card(request.user, workflow) for workflow in suspended],
        "next": suspended_cursor(suspended[-1]) if more else None,
        "completed": list(queries.ended_workflows_for(request.user)[:COMPLETED_SHOWN]),
        **counts(request.user),
    }
    return render(request, "approvals/dashboard/page.html", context)


@require_GET
def workflows(request: SignedIn) -> HttpResponse:
    """List the workflows that ended, page by page."""
    found = queries.ended_workflows_for(request.user, after=queries.WorkflowCursor.parse(request.GET.get("after", "")))
    page = list(found[: queries.PAGE + 1])
    shown, more = page[: queries.PAGE], len(page) > queries.PAGE
    context = {"completed": shown, "next": ended_cursor(shown[-1]) if more else None}
    return render(request, "approvals/workflows/list.html", context)


@require_GET
@refusals_as_pages
def workflow(request: SignedIn, pk: int) -> HttpResponse:
    rendered_at = timezone.now()
    found = queries.get_workflow_for(request.user, pk)
    steps = list(queries.steps_of(request.user, found))
    trail = list(queries.trail_of(request.user, found))
    results = results_of(steps, among=trail or None)
    context = {
        "rendered_at": rendered_at,
        "workflow": found,
        "steps": [(card_for(request.user, step), results.get(step.pk)) for step in steps],
        "trail": trail,
    }
    return render(request, "approvals/workflows/detail.html", context)
