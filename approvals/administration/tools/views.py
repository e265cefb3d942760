"""Administration of the tools and agents seen so far."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.scopes.queries import scopes_of_tool
from approvals.administration.tools import actions
from approvals.administration.tools.forms import PrioritiesForm, ToolForm, pointers
from approvals.administration.tools.queries import (
    agents_seen,
    has_asked,
    latest_of_tool,
    tools_seen,
)
from approvals.asking.secrets import masked_input
from approvals.exceptions import NotAllowed
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import ApproverScope, ToolSettings
from approvals.queries.policy.rules.policy_versions import rules_about_tool
from approvals.queries.preferences import settings_of_tools, strict_priorities
from approvals.shown.requests import shown_heading
from approvals.text.names import fold

MAX_NAME = 100


@administrators_only
@require_safe_or_POST
def tools(request: SignedIn) -> HttpResponse:
    """The tools and agents, and the priorities whose rejections need a message."""
    form = PrioritiesForm(
        sent(request),
        initial={"priorities": strict_priorities()},
    )
    if form.is_valid():
        waits = actions.store_strict_priorities(
            form.cleaned_data["priorities"], by=request.user
        )
        say_saved(request, waits=bool(waits))
        return redirect("approvals:tools")
    after, agents_after, search = (
        request.GET.get(name, "").replace("\0", "")[:MAX_NAME]
        for name in ("after", "agents", "q")
    )
    search = search.strip()
    shown, more = tools_seen(request.standing, after=after, search=search)
    agents, more_agents = agents_seen(request.standing, after=agents_after)
    context = {
        "tools": shown,
        "search": search,
        "next": more,
        "agents": agents,
        "next_agents": more_agents,
        "form": form,
        "here": "tools",
        "waiting": pending_changes(request.user, kinds=[Kind.TOOL, Kind.PRIORITIES]),
    }
    return form_page(request, "tools/tools.html", context)


@administrators_only
@require_safe_or_POST
def tool(request: SignedIn, name: str) -> HttpResponse:
    """The settings of one tool that has made requests or has settings."""
    latest = latest_of_tool(request.standing, name)
    stored = settings_of_tools([name]).get(name)
    if latest is None and stored is None and not has_asked(name):
        raise Http404
    form = (
        ToolForm(request.POST)
        if request.method == "POST"
        else ToolForm.of(stored or ToolSettings())
    )
    if form.is_valid():
        try:
            waits = actions.store_tool_settings(
                name, form.cleaned_data, by=request.user
            )
        except NotAllowed as refusal:
            refuse(form, refusal)
        else:
            say_saved(
                request,
                waits=bool(waits),
                saved=_("The settings of the tool are saved."),
            )
            return redirect("approvals:tool", name)
    context = {
        "name": name,
        "form": form,
        "stored": stored,
        "scopes": scopes_of_tool(name),
        "scoped": ApproverScope.objects.exists(),
        "ruled": rules_about_tool(name),
        "latest": latest and shown_heading(latest),
        "pointers": pointers(masked_input(latest, latest.input)) if latest else [],
        "here": "tools",
        "waiting": pending_changes(request.user, kinds=[Kind.TOOL], subject=fold(name)),
    }
    return form_page(request, "tools/tool.html", context)
