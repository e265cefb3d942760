"""Push the results of requests to the pages that show them."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.loader import render_to_string

from approvals.models import ApprovalRequest
from approvals.queries.results import results_of
from approvals.shown.requests import shown_heading


def render_results(requests: Sequence[ApprovalRequest]) -> str:
    """Render the results of requests that allowed a call to run, in one read."""
    results = results_of(requests)
    return "".join(
        render_to_string(
            "approvals/request/_result.html",
            {"result": result, "asked": shown_heading(request), "oob": True},
        )
        for request in requests
        if (result := results.get(request.pk)) is not None
    )
