"""How a person decided lately, shown to them alone, and the daily budget that they choose."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals.administration.forms import status_of
from approvals.administration.preferences.actions import store_preferences
from approvals.administration.preferences.forms import BudgetForm
from approvals.asking.reading_time import WORDS_PER_SECOND
from approvals.http import SignedIn
from approvals.queries.attention.seeded import results_of_person
from approvals.queries.attention.signs import DAYS, LIMIT, SERIES, decided_today, own_signs
from approvals.queries.preferences import preferences_of


@require_http_methods(["GET", "HEAD", "POST"])
def attention(request: SignedIn) -> HttpResponse:
    """Show a person how they decided lately, and store their daily budget."""
    stored = preferences_of(request.user)
    form = BudgetForm(request.POST if request.method == "POST" else None, instance=stored)
    if form.is_bound and form.is_valid():
        store_preferences(request.user, form.cleaned_data)
        messages.success(request, _("Your settings are saved."))
        return redirect("approvals:attention")
    since = timezone.now() - timedelta(days=DAYS)
    signs = own_signs(request.user, since=since)
    context = {
        "form": form,
        "here": "attention",
        "signs": signs,
        "capped": signs.decided == LIMIT,
        "days": DAYS,
        "series": SERIES,
        "speed": WORDS_PER_SECOND,
        "checks": results_of_person(request.user, since=since),
        "today": decided_today(request.user),
        "cases": f"{reverse('approvals:own-cases')}?of=",
    }
    return render(request, "approvals/administration/preferences/attention.html", context, status=status_of(form))
