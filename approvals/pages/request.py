"""The page of a request, and the views that decide and cancel it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from approvals import actions, queries
from approvals.access.sessions import signed_in_at
from approvals.db.cursors import number_from
from approvals.exceptions import NotFound, Refusal
from approvals.forms.decision import sent_decision, sent_door, shown_digest
from approvals.http import SignedIn, actor_of, refusals_as_pages, sent_address
from approvals.models import ApprovalRequest
from approvals.pages.cards import Card, card_for, refused_card, with_answering
from approvals.pages.detail import detail_of
from approvals.pages.grants.panel import SENT, granting_of, sent_terms
from approvals.queries.policy.grants.covered import waiting_with_grant_of
from approvals.queries.results import results_of, resumptions_of
from approvals.shown.notes import notes_for
from approvals.text.secrets import mask_text


@require_GET
@refusals_as_pages
def request_page(request: SignedIn, pk: UUID) -> HttpResponse:
    rendered_at = timezone.now()
    approval_request = queries.get_request_for(request.standing, pk)
    card = card_for(request.standing, approval_request)
    return request_response(request, approval_request, card, rendered_at=rendered_at)


def request_response(
    request: SignedIn,
    approval_request: ApprovalRequest,
    card: Card,
    *,
    rendered_at: datetime | None = None,
    status: int = HTTPStatus.OK,
    **instead: Any,
) -> HttpResponse:
    """Return the page of a request; `instead` replaces parts of its context, such as `notes` after a refusal."""
    context: dict[str, Any] = {
        "card": card,
        "workflow": approval_request.workflow,
        "workflow_title": mask_text(
            queries.workflow_title_for(request.standing, approval_request)
        ),
        "rendered_at": rendered_at or timezone.now(),
        "detail": detail_of(request.user, request.standing, approval_request, card),
        "result": results_of([approval_request]).get(approval_request.pk),
        "resumption": resumptions_of([approval_request]).get(approval_request.pk),
    }
    if "notes" not in instead:
        before = number_from(request.GET.get("before", ""))
        context["notes"] = notes_for(request.standing, approval_request, before=before)
    context |= instead
    return render(request, "approvals/request/page.html", context, status=status)


@require_POST
@refusals_as_pages
def decide(request: SignedIn, pk: UUID) -> HttpResponse:
    approval_request = queries.get_request_for(request.standing, pk)
    try:
        shown = shown_digest(request.POST)
        terms = (
            sent_terms(request.standing, approval_request, request.POST)
            if SENT in request.POST
            else None
        )
        answer = replace(
            sent_decision(approval_request, request.POST, request.FILES),
            grant=terms,
            signed_in_at=signed_in_at(request.session),
        )
        via = sent_door(request.POST)
        seen = actions.EarlyFacts(approval_request, request.standing)
        outcome = actions.decide(
            pk, answer, by=actor_of(request), via=via, shown_digest=shown, seen=seen
        )
    except Refusal as refusal:
        return _refused(request, pk, refusal)
    return _acted(request, outcome.request)


@require_POST
@refusals_as_pages
def cancel(request: SignedIn, pk: UUID) -> HttpResponse:
    comment = request.POST.get("comment", "")
    via = sent_door(request.POST)
    try:
        outcome = actions.cancel(pk, by=actor_of(request), via=via, comment=comment)
    except Refusal as refusal:
        return _refused(request, pk, refusal)
    return _acted(request, outcome.request)


def _refused(request: SignedIn, pk: UUID, refusal: Refusal) -> HttpResponse:
    """Return the card with the refusal, or the whole page without htmx. Raise NotFound, for which there is no card."""
    if isinstance(refusal, NotFound):
        raise refusal
    approval_request = queries.get_request_for(request.standing, pk)
    door = sent_door(request.POST)
    card = refused_card(request.standing, approval_request, refusal, request.POST, door)
    if SENT in request.POST and card.may_close:
        granting = granting_of(request.standing, approval_request, request.POST)
        card = with_answering(card, granting=granting)
    return card_response(request, approval_request, card, refusal.status)


def _acted(request: SignedIn, ended: ApprovalRequest) -> HttpResponse:
    """Return the card of a request that the person has decided or cancelled; without htmx, redirect."""
    if not request.headers.get("HX-Request"):
        return HttpResponseRedirect(
            sent_address(request, "next") or ended.get_absolute_url()
        )
    card = card_for(request.standing, ended, door=sent_door(request.POST))
    if (
        card.outcome is not None
        and card.outcome.decision.by_name == request.user.username
    ):
        # The decision was made without a read of its decider's display name.
        named = replace(card.request, decided_display=request.user.first_name)
        card = replace(card, request=named)
    if SENT in request.POST and card.outcome is not None:
        # A grant was given: show the waiting requests that it covers.
        waiting = waiting_with_grant_of(request.standing, ended)
        card = replace(card, outcome=replace(card.outcome, waiting=waiting))
    return card_response(request, ended, card)


def card_response(
    request: SignedIn,
    approval_request: ApprovalRequest,
    card: Card,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Return the card of a request for htmx, else the whole page."""
    if request.headers.get("HX-Request"):
        # A decision that the page held for a while arrives when the person may be typing elsewhere.
        context = {"card": card, "focus": "held" not in request.POST}
        return render(request, "approvals/request/_card.html", context, status=status)
    return request_response(request, approval_request, card, status=status)
