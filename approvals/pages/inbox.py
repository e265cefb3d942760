"""The inbox, and the pages of bulk decisions."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from approvals.exceptions import Invalid
from approvals.forms.safeguards import how_much
from approvals.http import SignedIn, refusals_as_pages, sent_address
from approvals.live.batching import BatchCache
from approvals.pages import bulk
from approvals.pages.context import waiting_count_for
from approvals.pages.inbox_rows import group_rows
from approvals.queries import COUNT_LIMIT, request_list
from approvals.queries.filters import AGES, ANY, GROUPS, OVER, Filters, filters_from, valid_filters_in
from approvals.states import FINAL, Kind, Priority, Status, Verdict


@require_GET
def requests_page(request: SignedIn) -> HttpResponse:
    """Show the requests that match the filters in the query string; status 422 if a filter is not valid."""
    rendered_at = timezone.now()
    try:
        filters = filters_from(request.GET)
    except Invalid as refusal:
        context = {
            "filters": valid_filters_in(request.GET),
            "refusal": refusal,
            "choices": choices(),
            "rendered_at": rendered_at,
        }
        return render(request, "approvals/inbox/page.html", context, status=refusal.status)
    rows, after = request_list.page_of(request.user, filters)
    context = {
        "rendered_at": rendered_at,
        "filters": filters,
        "choices": choices(),
        "groups": group_rows(request.user, rows, filters),
        "rows": rows,
        "next": filters.at(after) if after else None,
        "first": filters.at(None),
        "live_query": replace(filters, after=None, group="").query,
        "tools": sorted({row.tool_name for row in rows} - {""}),
        "agents": sorted({row.agent for row in rows} - {""}),
        "people": sorted({row.requested_by.get_username() for row in rows}),
        "waiting_count": waiting_count_for(request.user, BatchCache()),
        **count(request.user, filters),
    }
    return render(request, "approvals/inbox/page.html", context)


def count(user: Any, filters: Filters) -> dict[str, int]:
    """Return how many requests match, for the page and its pushes."""
    return {"found_count": request_list.count_of(user, filters), "count_limit": COUNT_LIMIT}


def choices() -> dict[str, list[tuple[str, Any]]]:
    """Return the options of each filter as (value, label), without the empty option."""
    over = [(str(one), one.label) for one in Status if one in FINAL]
    words = {"agent": _("Agent"), "tool": _("Tool"), "workflow": _("Workflow")}
    return {
        "status": [(OVER, _("Decided")), *over, (ANY, _("All"))],
        "kind": list(Kind.choices),
        "priority": list(reversed(Priority.choices)),
        "age": list(AGES.items()),
        "group": [(group, words[group]) for group in GROUPS],
    }


@require_POST
@refusals_as_pages
def bulk_page(request: SignedIn) -> HttpResponse:
    """Show what a bulk decision would do; with `confirmed`, decide and show the result for each request."""
    order = bulk.parse_order(request.POST)
    confirmed = request.POST.get("confirmed") == "yes"
    steps = bulk.decide_all(request.user, order) if confirmed else bulk.plan(request.user, order, inputs=True)
    going = [step for step in steps if not step.code]
    tools = [] if confirmed else bulk.compare_by_tool(going)
    collapsed = [fold for tool in tools for fold in tool.folds()]
    context = {
        "order": order,
        "approves": order.verdict == Verdict.APPROVE,
        "steps": steps,
        "going": going,
        "left": [step for step in steps if step.code],
        "tools": tools,
        "collapsed": len(collapsed),
        "how_much": how_much(collapsed),
        "back": back_to(request),
    }
    return render(
        request,
        "approvals/bulk/results.html" if confirmed else "approvals/bulk/confirm.html",
        context,
        status=HTTPStatus.OK,
    )


def back_to(request: SignedIn) -> str:
    """Return the address of the inbox view that sent the form."""
    target, home = sent_address(request, "back"), reverse("approvals:requests")
    return target if target == home or target.startswith(f"{home}?") else home
