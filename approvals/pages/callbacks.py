"""Settle the delivery of a decision to its engine from the page of the request."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.actions.callbacks import settling
from approvals.exceptions import Conflict
from approvals.http import SignedIn, actor_of, refusals_as_pages


@require_POST
@refusals_as_pages
def settle(request: SignedIn, pk: UUID) -> HttpResponse:
    """Store the person's statement about a delivery, or send the decision again."""
    try:
        settling.settle(pk, request.POST.get("what", ""), by=actor_of(request))
    except Conflict as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Saved."))
    return redirect("approvals:request", pk)
