"""*Approve for…*: the card of a request with the terms of a grant, which its form submits with the approval."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render

from approvals import queries
from approvals.forms.decision import sent_door
from approvals.http import SignedIn, refusals_as_pages, require_safe_or_POST
from approvals.pages.cards import card_for, with_answering
from approvals.pages.grants.panel import granting_of
from approvals.pages.request import card_response


@require_safe_or_POST
@refusals_as_pages
def grant(request: SignedIn, pk: UUID) -> HttpResponse:
    """Show the card with the panel, or if the page asks for it, only the meaning of the submitted terms. Nothing is stored."""
    approval_request = queries.get_request_for(request.standing, pk)
    card = card_for(
        request.standing, approval_request, door=sent_door(request.POST or request.GET)
    )
    fragment = request.headers.get("HX-Request")
    if not card.may_close:
        return (
            card_response(request, approval_request, card)
            if fragment
            else redirect(approval_request)
        )
    suggested = "suggested" in request.GET
    granting = granting_of(
        request.standing, approval_request, request.POST or None, suggested=suggested
    )
    if request.method == "POST" and fragment:
        return render(request, "approvals/policy/_preview.html", {"granting": granting})
    return card_response(
        request,
        approval_request,
        with_answering(card, granting=granting, typed=request.POST),
    )
