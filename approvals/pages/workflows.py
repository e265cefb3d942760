"""The Workflows tab, with suspended and completed workflows, and the page of one workflow with its requests."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals import queries
from approvals.db.cursors import number_from
from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages
from approvals.live.batching import BatchCache
from approvals.pages.audit.lines import words_of
from approvals.pages.cards import card_for
from approvals.pages.context import tab_counts
from approvals.pages.lists.workflow_rows import workflow_row
from approvals.queries import PAGE, RequestCursor
from approvals.queries.policy.votes.ballots import ballots_of
from approvals.queries.search_words import MAX_SEARCH
from approvals.queries.workflow_list import (
    ENDED,
    SEARCHED,
    SUSPENDED,
    cursor_in,
    history_of,
    page_of_workflows,
)
from approvals.shown.entries import shown_entry

#: How many completed workflows are shown below the suspended ones.
COMPLETED_SHOWN = 20


@require_GET
@refusals_as_pages
def workflows(request: SignedIn) -> HttpResponse:
    """List the suspended workflows and the latest completed ones; with `show`, page through one of these lists."""
    rendered_at = timezone.now()
    viewer = request.standing
    shared = BatchCache()
    q = request.GET.get("q", "").strip()
    show = request.GET.get("show", "")
    if len(q) > MAX_SEARCH or "\x00" in q:
        raise Invalid(
            _("Search for at most %(most)d characters.") % {"most": MAX_SEARCH}
        )
    after = (
        cursor_in(request.GET.get("after", "")) if show in (SUSPENDED, ENDED) else None
    )
    lists = []
    for which in (SUSPENDED, ENDED):
        if show not in ("", which):
            continue
        limit = COMPLETED_SHOWN if which == ENDED and not show else PAGE
        page = page_of_workflows(viewer, which, q=q, after=after, limit=limit)
        following = {
            "show": which,
            "q": q,
            "after": str(page.after) if show and page.after else "",
        }
        lists.append(
            {
                "which": which,
                "rows": [workflow_row(row) for row in page.workflows],
                "next": page.after,
                "next_query": f"?{urlencode({name: value for name, value in following.items() if value})}",
            }
        )
    context = {
        "rendered_at": rendered_at,
        "lists": lists,
        "q": q,
        "show": show,
        "after": after,
        "searched": SEARCHED,
        **tab_counts(viewer, shared),
    }
    return render(request, "approvals/workflows/list.html", context)


@require_GET
@refusals_as_pages
def workflow(request: SignedIn, pk: int) -> HttpResponse:
    rendered_at = timezone.now()
    shown = queries.get_workflow_for(request.standing, pk)
    before = RequestCursor.parse(request.GET.get("before", ""))
    entries_before = number_from(request.GET.get("entries_before", ""))
    history = history_of(
        request.standing, shown, before=before, entries_before=entries_before
    )
    ballots = ballots_of(history.requests, [request.standing])

    def link(**changes: object) -> str:
        """Return the address of the page with another cursor in one of its lists."""
        cursors = {"before": before, "entries_before": entries_before} | changes
        return f"?{urlencode({name: str(cursor) for name, cursor in cursors.items() if cursor is not None})}"

    context = {
        "rendered_at": rendered_at,
        "workflow": shown,
        "steps": [
            (
                card_for(request.standing, step, ballots=ballots),
                history.results.get(step.pk),
            )
            for step in history.requests
        ],
        "trail": [
            (
                shown_entry(entry),
                words_of(
                    entry,
                    {},
                    history.kinds.get(entry.request_id, "") if entry.request_id else "",
                ),
            )
            for entry in history.entries
        ],
        "earlier": link(before=history.earlier_requests)
        if history.earlier_requests
        else "",
        "latest": link(before=None) if before else "",
        "earlier_entries": link(entries_before=history.earlier_entries)
        if history.earlier_entries
        else "",
        "latest_entries": link(entries_before=None)
        if entries_before is not None
        else "",
    }
    return render(request, "approvals/workflows/detail.html", context)
