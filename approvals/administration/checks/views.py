"""Administration of seeded checks. What people did is shown in sum."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals.actions import attention
from approvals.administration.checks.forms import CaseForm, RateForm
from approvals.administration.forms import status_of
from approvals.administration.guards import administrators_only
from approvals.http import SignedIn
from approvals.models import CheckSettings
from approvals.queries.attention.seeded import live_cases, results_of_all
from approvals.states import Door

#: How far back the sums go.
DAYS = 90


@administrators_only
@require_http_methods(["GET", "HEAD", "POST"])
def checks(request: SignedIn) -> HttpResponse:
    """The switch with the rate, the sums, and the cases with the form for a new one."""
    chosen = CheckSettings.objects.first()
    sent = request.POST.get("form") if request.method == "POST" else None
    rate = RateForm(request.POST if sent == "rate" else None, initial={"every": chosen.every if chosen else None})
    case = CaseForm(request.POST if sent == "case" else None)
    if rate.is_bound and rate.is_valid():
        attention.switch_checks(rate.cleaned_data["every"], by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("Your settings are saved."))
        return redirect("approvals:checks")
    if case.is_bound and case.is_valid():
        attention.add_case(case.cleaned_data, by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("The case is added."))
        return redirect("approvals:checks")
    context = {
        "rate": rate,
        "form": case,
        "chosen": chosen,
        "cases": live_cases(),
        "results": results_of_all(since=timezone.now() - timedelta(days=DAYS)),
        "days": DAYS,
        "here": "checks",
    }
    status = status_of(rate if rate.is_bound else case)
    return render(request, "approvals/administration/checks/checks.html", context, status=status)


@administrators_only
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    attention.remove_case(pk, by=request.user, via=Door.DASHBOARD)
    messages.success(request, _("The case is removed."))
    return redirect("approvals:checks")
