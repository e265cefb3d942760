"""The line below the Inbox: the daily budget, and a sign that the last decisions were careless."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from approvals.http import SignedIn
from approvals.queries.attention.signs import (
    FRESH,
    RECENT,
    SERIES,
    decided_today,
    own_signs,
)
from approvals.queries.insights.values import duration
from approvals.queries.preferences import preferences_of


@require_GET
def line(request: SignedIn) -> HttpResponse:
    """Return the line for this person; pages load it after themselves, and again after each decision."""
    signs = own_signs(request.user, since=timezone.now() - FRESH, limit=RECENT)
    budget = preferences_of(request.user).daily_budget
    taken, reading = signs.last_hasty or (0.0, 0.0)
    context = {
        "budget": budget,
        "today": decided_today(request.user) if budget else 0,
        "hasty": signs.last_hasty is not None,
        "taken": duration(taken),
        "reading": duration(reading),
        "series": signs.series if signs.series >= SERIES else 0,
    }
    return render(request, "approvals/attention/_line.html", context)
