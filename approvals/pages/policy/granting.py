"""*Approve for…*: the card of a request with the terms of a grant, which its form sends with the approval."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from approvals import queries
from approvals.forms.decision import sent_door
from approvals.http import SignedIn, refusals_as_pages
from approvals.pages.cards import card_for
from approvals.pages.policy.panel import granting_of
from approvals.pages.request import card_response


@require_http_methods(["GET", "HEAD", "POST"])
@refusals_as_pages
def grant(request: SignedIn, pk: UUID) -> HttpResponse:
    """Show the card with the panel; of what a form has sent, only what it means, if the page asks for that. Nothing is stored."""
    approval_request = queries.get_request_for(request.standing, pk)
    card = card_for(request.standing, approval_request, door=sent_door(request.POST or request.GET))
    fragment = request.headers.get("HX-Request")
    if not card.may_close:
        return card_response(request, card) if fragment else redirect(approval_request)
    suggested = "suggested" in request.GET
    granting = granting_of(request.standing, approval_request, request.POST or None, suggested=suggested)
    if request.method == "POST" and fragment:
        return render(request, "approvals/policy/_preview.html", {"granting": granting})
    return card_response(request, replace(card, granting=granting, typed=request.POST))
