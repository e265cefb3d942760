"""Administration of notification rules."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.administration.forms import status_of
from approvals.administration.guards import administrators_only
from approvals.administration.notification_rules import actions, queries
from approvals.administration.notification_rules.forms import NotificationRuleForm
from approvals.exceptions import NotFound
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import NotificationRule
from approvals.states import Door


@administrators_only
@require_safe_or_POST
def rules(request: SignedIn) -> HttpResponse:
    """The list of rules, and the form for a new one."""
    form = NotificationRuleForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        actions.store_rule(None, form.cleaned_data, by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("The rule applies from now on."))
        return redirect("approvals:rules")
    context = {"form": form, "rows": queries.rules(), "here": "rules"}
    return render(
        request,
        "approvals/administration/notification_rules/rules.html",
        context,
        status=status_of(form),
    )


@administrators_only
@require_safe_or_POST
def rule(request: SignedIn, pk: int) -> HttpResponse:
    stored = (
        NotificationRule.objects.select_related("person", "group").filter(pk=pk).first()
    )
    if stored is None:
        raise NotFound(
            _("Page not found. It may not exist, or you may not have access.")
        )
    name = str(stored)
    form = NotificationRuleForm(
        request.POST if request.method == "POST" else None, instance=stored
    )
    if form.is_bound and form.is_valid():
        actions.store_rule(pk, form.cleaned_data, by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("The changes are saved."))
        return redirect("approvals:rules")
    context = {"form": form, "name": name, "pk": pk, "here": "rules"}
    return render(
        request,
        "approvals/administration/notification_rules/rule.html",
        context,
        status=status_of(form),
    )


@administrators_only
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    actions.remove_rule(pk, by=request.user, via=Door.DASHBOARD)
    messages.success(request, _("The rule is removed."))
    return redirect("approvals:rules")
