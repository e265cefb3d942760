"""The decisions behind the figures of *How you decide*, shown only to the person who made them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages
from approvals.pages.insights.cases import context_of, read_place
from approvals.queries.attention.people import Made
from approvals.queries.attention.signs import DAYS, longest_series, own_decisions
from approvals.queries.insights.cases import shown_cases


@require_GET
@refusals_as_pages
def own_cases(request: SignedIn) -> HttpResponse:
    """The decisions behind a figure of the page, latest first; `?of=` names it."""
    figure = request.GET.get("of", "")
    skip = read_place(request.GET)
    decisions = own_decisions(request.user, since=timezone.now() - timedelta(days=DAYS))
    counted: dict[str, Sequence[Made]] = {
        "on_pages": decisions,
        "hasty": [each for each in decisions if each.is_hasty],
        "unseen": [each for each in decisions if each.unseen],
        "series": longest_series(decisions),
    }
    if figure not in counted:
        raise Invalid(
            _("This URL has invalid filters, so the list shows nothing."),
            {"of": _("is unknown")},
        )
    cases = shown_cases(request.standing, counted[figure], skip)
    context = context_of(request.GET, cases, figure, skip) | {
        "days": DAYS,
        "back": "attention",
    }
    return render(request, "approvals/insights/cases.html", context)
