"""The page that shows one hidden value of a request to the person who asked for it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from approvals import actions, queries
from approvals.asking.secrets import masked_request
from approvals.http import SignedIn, actor_of, refusals_as_pages
from approvals.states import Door
from approvals.text.text import show_invisible, visible


@require_POST
@refusals_as_pages
def show_secret(request: SignedIn, pk: UUID) -> HttpResponse:
    """Show the value, in place of its button or on a page of its own. No browser and no proxy keeps the response."""
    pointer = request.POST.get("pointer", "")
    value = actions.reveal_secret(pk, pointer, by=actor_of(request), via=Door.DASHBOARD)
    context = {"value": show_invisible(str(value)), "pointer": visible(pointer)}
    if request.headers.get("HX-Request"):
        return render(request, "approvals/request/_secret.html", context)
    shown = masked_request(queries.get_request_for(request.standing, pk))
    return render(request, "approvals/request/secret.html", context | {"asked": shown})
