"""The page that compares the input of a request with that of an earlier decision."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from approvals import queries
from approvals.exceptions import NotFound
from approvals.http import SignedIn, refusals_as_pages
from approvals.shown.requests import shown_decision, shown_heading
from approvals.text.differences import changes


@require_GET
@refusals_as_pages
def difference(request: SignedIn, pk: UUID, other: UUID) -> HttpResponse:
    """Show the values that differ from those approved in an earlier request."""
    current, past = (
        queries.get_request_for(request.standing, each) for each in (pk, other)
    )
    decision = getattr(past, "decision", None)
    if decision is None:
        raise NotFound
    before = past.input if decision.edited_input is None else decision.edited_input
    context = {
        "asked": shown_heading(current),
        "past": shown_heading(past),
        "decision": shown_decision(past, decision),
        "rows": changes(
            before, current.input, [*(current.secrets or ()), *(past.secrets or ())]
        ),
    }
    return render(request, "approvals/request/difference.html", context)
