"""The list of requests and decisions on many of them, as pages."""

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
from approvals.live.batching import Shared
from approvals.pages import bulk
from approvals.pages.context import waits_for
from approvals.pages.inbox_rows import grouped
from approvals.queries import COUNT_LIMIT, request_list
from approvals.queries.filters import AGES, ANY, GROUPS, OVER, Lens, lens_from, understood_in
from approvals.states import FINAL, Kind, Priority, Status, Verdict


@require_GET
def requests_page(request: SignedIn) -> HttpResponse:
    """The list through the lens that the address names; 422 where it names what there is not."""
    rendered_at = timezone.now()
    try:
        lens = lens_from(request.GET)
    except Invalid as refusal:
        context = {
            "lens": understood_in(request.GET),
            "refusal": refusal,
            "choices": choices(),
            "rendered_at": rendered_at,
        }
        return render(request, "approvals/inbox/page.html", context, status=refusal.status)
    rows, after = request_list.page_of(request.user, lens)
    context = {
        "rendered_at": rendered_at,
        "lens": lens,
        "choices": choices(),
        "groups": grouped(request.user, rows, lens),
        "rows": rows,
        "next": lens.at(after) if after else None,
        "first": lens.at(None),
        "live_query": replace(lens, after=None, group="").query,
        "tools": sorted({row.tool_name for row in rows} - {""}),
        "agents": sorted({row.agent for row in rows} - {""}),
        "people": sorted({row.requested_by.get_username() for row in rows}),
        "waiting_count": waits_for(request.user, Shared()),
        **count(request.user, lens),
    }
    return render(request, "approvals/inbox/page.html", context)


def count(user: Any, lens: Lens) -> dict[str, int]:
    """How many the lens finds, as the page and its pushes show it."""
    return {"found_count": request_list.count_of(user, lens), "count_limit": COUNT_LIMIT}


def choices() -> dict[str, list[tuple[str, Any]]]:
    """What the filters offer, as (value, words), beside what each shows when nothing is chosen."""
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
    """First what deciding all these would do; with `confirmed` it is done, and the page says what came of each."""
    order = bulk.order_from(request.POST)
    confirmed = request.POST.get("confirmed") == "yes"
    steps = bulk.carry_out(request.user, order) if confirmed else bulk.plan(request.user, order, inputs=True)
    going = [step for step in steps if not step.code]
    tools = [] if confirmed else bulk.by_tool(going)
    folded = [fold for tool in tools for fold in tool.folds()]
    context = {
        "order": order,
        "approves": order.verdict == Verdict.APPROVE,
        "steps": steps,
        "going": going,
        "left": [step for step in steps if step.code],
        "tools": tools,
        "folded": len(folded),
        "how_much": how_much(folded),
        "back": back_to(request),
    }
    return render(
        request,
        "approvals/bulk/results.html" if confirmed else "approvals/bulk/confirm.html",
        context,
        status=HTTPStatus.OK,
    )


def back_to(request: SignedIn) -> str:
    """The view of the list that the form stood in."""
    target, home = sent_address(request, "back"), reverse("approvals:requests")
    return target if target == home or target.startswith(f"{home}?") else home
