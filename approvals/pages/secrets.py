"""The page that reveals one hidden value of a request to one person."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from approvals import actions, queries
from approvals.http import SignedIn, actor_of, refusals_as_pages
from approvals.shown.requests import shown_heading
from approvals.states import Door
from approvals.text.text import show_invisible, visible


@require_POST
@refusals_as_pages
def show_secret(request: SignedIn, pk: UUID) -> HttpResponse:
    """Reveal the value, in place of its button or on its own page. No browser or proxy stores the response."""
    pointer = request.POST.get("pointer", "")
    value = actions.reveal_secret(pk, pointer, by=actor_of(request), via=Door.DASHBOARD)
    context = {"value": show_invisible(str(value)), "pointer": visible(pointer)}
    if request.headers.get("HX-Request"):
        return render(request, "approvals/request/_secret.html", context)
    shown = shown_heading(queries.get_request_for(request.standing, pk))
    return render(request, "approvals/request/secret.html", context | {"asked": shown})
