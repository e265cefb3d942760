"""A person's own recent decisions, shown only to them, and their daily budget."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.administration.forms import form_page, sent
from approvals.administration.preferences.actions import store_preferences
from approvals.administration.preferences.forms import BudgetForm
from approvals.asking.asks import WORDS_PER_SECOND
from approvals.http import SignedIn, require_safe_or_POST
from approvals.queries.attention.signs import (
    DAYS,
    LIMIT,
    SERIES,
    decided_today,
    own_signs,
)
from approvals.queries.preferences import preferences_of


@require_safe_or_POST
def attention(request: SignedIn) -> HttpResponse:
    """Show a person's recent decisions, and store their daily budget."""
    stored = preferences_of(request.user)
    form = BudgetForm(sent(request), instance=stored)
    if form.is_valid():
        store_preferences(request.user, form.cleaned_data)
        messages.success(request, _("Your settings are saved."))
        return redirect("approvals:attention")
    signs = own_signs(request.user, since=timezone.now() - timedelta(days=DAYS))
    context = {
        "form": form,
        "here": "attention",
        "signs": signs,
        "capped": signs.decided == LIMIT,
        "days": DAYS,
        "series": SERIES,
        "speed": WORDS_PER_SECOND,
        "today": decided_today(request.user),
        "cases": f"{reverse('approvals:own-cases')}?of=",
    }
    return form_page(request, "preferences/attention.html", context)
