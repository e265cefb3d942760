"""Administration of notification rules."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.administration.forms import form_page, sent
from approvals.administration.guards import administrators_only
from approvals.administration.notification_rules import actions, queries
from approvals.administration.notification_rules.forms import NotificationRuleForm
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import NotificationRule
from approvals.states import Door


@administrators_only
@require_safe_or_POST
def rules(request: SignedIn) -> HttpResponse:
    """The list of rules, and the form for a new one."""
    form = NotificationRuleForm(sent(request))
    if form.is_valid():
        actions.store_rule(None, form.cleaned_data, by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("The rule applies from now on."))
        return redirect("approvals:rules")
    context = {"form": form, "rows": queries.rules(), "here": "rules"}
    return form_page(request, "notification_rules/rules.html", context)


@administrators_only
@require_safe_or_POST
def rule(request: SignedIn, pk: int) -> HttpResponse:
    rules = NotificationRule.objects.select_related("person", "group")
    stored = get_object_or_404(rules, pk=pk)
    name = str(stored)
    form = NotificationRuleForm(sent(request), instance=stored)
    if form.is_valid():
        actions.store_rule(pk, form.cleaned_data, by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("The changes are saved."))
        return redirect("approvals:rules")
    context = {"form": form, "name": name, "pk": pk, "here": "rules"}
    return form_page(request, "notification_rules/rule.html", context)


@administrators_only
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    actions.remove_rule(pk, by=request.user, via=Door.DASHBOARD)
    messages.success(request, _("The rule is removed."))
    return redirect("approvals:rules")
