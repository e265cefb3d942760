"""The inbox, and the pages of bulk decisions."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from approvals.access import permissions
from approvals.access.rights import DECIDE
from approvals.access.sessions import signed_in_at
from approvals.access.standing import Standing
from approvals.exceptions import Invalid, NotFound, UnreadParts
from approvals.forms.unseen_parts import how_much
from approvals.http import SignedIn, actor_of, refusals_as_pages, sent_address
from approvals.live.batching import BatchCache
from approvals.pages import bulk, bulk_orders
from approvals.pages.context import tab_counts
from approvals.pages.lists.filter_chips import TYPED, chips_of, kept_fields, order_chips
from approvals.pages.lists.row_groups import RowGroup, group_rows, section_rows
from approvals.queries import request_list
from approvals.queries.filters import (
    Filters,
    ListCursor,
    filters_from,
    valid_filters_in,
)
from approvals.queries.lists.saved_views import suggested_values, views_for
from approvals.queries.lists.snoozes import snoozes_of
from approvals.queries.search import Hits, hits_of
from approvals.queries.sections import RECENT, sections_of
from approvals.text.text import visible


@require_GET
def requests_page(request: SignedIn) -> HttpResponse:
    """Show the requests that match the filters in the query string; status 422 if a filter is invalid."""
    rendered_at = timezone.now()
    try:
        filters = filters_from(request.GET)
    except Invalid as refusal:
        context = filter_context(request, valid_filters_in(request.GET)) | {
            "refusal": refusal,
            "typed_search": request.GET.get("q", "").replace("\0", ""),
        }
        return render(
            request, "approvals/inbox/page.html", context, status=refusal.status
        )
    shared = BatchCache()
    hits = hits_of(filters.q) if filters.q else None
    groups, after = groups_of(request.standing, shared, filters, hits)
    snoozed, wakes_at = snoozes_of(request.standing)
    context = {
        **filter_context(request, filters),
        "rendered_at": rendered_at,
        "groups": [group.shown for group in groups],
        "found_rows": sum(len(group.rows) for group in groups if group.name != RECENT),
        "next": filters.at(after) if after else None,
        "first": filters.at(None),
        "live_query": replace(filters, after=None, sort="", group="").query,
        "sees_by_scopes": permissions.sees_by_scopes(request.standing),
        "snoozed_count": snoozed,
        "wakes_at": wakes_at,
        **tab_counts(request.standing, shared),
        "found_count": request_list.count_of(request.standing, filters, hits=hits),
    }
    context["needed_count"] = context["found_count"] - context["others_count"]
    return render(request, "approvals/inbox/page.html", context)


def groups_of(
    viewer: Standing, shared: BatchCache, filters: Filters, hits: Hits | None
) -> tuple[list[RowGroup], ListCursor | None]:
    """Return a page of the list under its headings, and the cursor of the next page or None; `hits` are those of its search."""
    if filters.sectioned:
        sections = sections_of(viewer, filters, hits=hits)
        first = filters.after is None
        rows = section_rows(viewer, shared, sections.rows, first=first)
        return rows, sections.after
    requests, after = request_list.page_of(viewer, filters, hits=hits)
    return group_rows(viewer, shared, requests, filters), after


def filter_context(request: SignedIn, filters: Filters) -> dict[str, Any]:
    """Return the context of the filters, of the views, and of the keyboard help."""
    views = views_for(request.user)
    shown = replace(filters, after=None).query
    return {
        "filters": filters,
        "chips": chips_of(filters),
        "orders": order_chips(filters),
        "views": views,
        "view": next((view for view in views if view.query == shown), None),
        "shown_query": shown,
        "without_search": replace(filters, after=None, q="").query,
        "search_fields": kept_fields(filters, "q"),
        "may_decide": DECIDE in request.standing.rights,
    }


@require_GET
@refusals_as_pages
def suggestions(request: SignedIn) -> HttpResponse:
    """Show the most frequent values of one filter as links, for its chip."""
    query = request.GET.copy()
    name = query.pop("field", [""])[-1]
    if name not in TYPED:
        raise NotFound
    filters = filters_from(query)
    values = suggested_values(request.standing, filters, name)
    context = {
        "name": name,
        "values": [
            (visible(value), filters.with_value(name, value), number)
            for value, number in values
        ],
        "home": reverse("approvals:dashboard"),
    }
    return render(request, "approvals/inbox/_suggestions.html", context)


@require_POST
@refusals_as_pages
def bulk_page(request: SignedIn) -> HttpResponse:
    """Show the effect of a bulk decision; with `confirmed`, decide and show the result for each request.

    Respond with 422 and the preview again if a person approves parts that were never in view, and was not told.
    """
    order = replace(
        bulk_orders.parse_order(request.POST),
        signed_in_at=signed_in_at(request.session),
    )
    if request.POST.get("confirmed") != "yes":
        return _bulk_review(request, order)
    try:
        steps = bulk.decide_all(actor_of(request), request.standing, order)
    except UnreadParts as refusal:
        return _bulk_review(request, order, refusal)
    going = [step for step in steps if not step.code]
    context = {
        "approves": order.approves,
        "steps": steps,
        "decided": [step for step in going if not step.voted],
        "voted": [step for step in going if step.voted],
        "left": [step for step in steps if step.code],
        "back": back_to(request),
    }
    return render(request, "approvals/bulk/results.html", context)


def _bulk_review(
    request: SignedIn,
    order: bulk_orders.BulkDecision,
    refusal: UnreadParts | None = None,
) -> HttpResponse:
    """Show the effect of a bulk decision; after a refusal, with the earlier viewed places and choices."""
    steps = bulk.plan(
        request.standing,
        replace(order, picks=order.offered or order.picks),
        inputs=True,
    )
    going = [step for step in steps if not step.code]
    tools = bulk.review(going, order)
    lines = [line for tool in tools for line in tool.lines]
    context = {
        "order": order,
        "approves": order.approves,
        "going": going,
        "included": [line for line in lines if line.included],
        "left": [step for step in steps if step.code],
        "tools": tools,
        "folded": how_much([part for tool in tools for part in tool.folded()]),
        "back": back_to(request),
        "refusal": refusal,
    }
    status = HTTPStatus.OK if refusal is None else refusal.status
    return render(request, "approvals/bulk/confirm.html", context, status=status)


def back_to(request: SignedIn) -> str:
    """Return the address of the inbox view that submitted the form."""
    target = sent_address(request, "back")
    home = reverse("approvals:dashboard")
    lists = (home, reverse("approvals:requests"))
    return (
        target
        if any(
            target == address or target.startswith(f"{address}?") for address in lists
        )
        else home
    )
