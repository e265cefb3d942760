"""Review an edit before it is submitted: show its changes, with a button that approves exactly these."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from approvals import queries
from approvals.actions import checking
from approvals.actions.decisions.facts import known_of
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid, NotAllowed, Refusal
from approvals.forms.decision import edited_input, sent_decision, sent_door
from approvals.forms.switching import switched
from approvals.http import SignedIn, refusals_as_pages
from approvals.models import ApprovalRequest
from approvals.pages.card_forms import Review
from approvals.pages.cards import card_for, refused_card, with_answering
from approvals.pages.request import card_response
from approvals.queries.policy.why_not import why_not
from approvals.states import Door, Verdict
from approvals.text.differences import changes

#: Fields that the template adds to every form.
FORM_FIELDS = frozenset(
    {"csrfmiddlewaretoken", "verdict", "from", "again", "switch", "digest"}
)


@require_POST
@refusals_as_pages
def review(request: SignedIn, pk: UUID) -> HttpResponse:
    """Show the card with the differences, or with the edit form again after a refusal or if `again` was sent."""
    approval_request = queries.get_request_for(request.standing, pk)
    door = sent_door(request.POST)
    status = HTTPStatus.OK.value
    card = card_for(request.standing, approval_request, door=door)
    try:
        if "again" in request.POST:
            card = with_answering(card, typed=request.POST)
        elif "switch" in request.POST:
            card = with_answering(card, typed=switched(approval_request, request.POST))
        else:
            card = with_answering(
                card, review=_review(request, approval_request, card.may_close)
            )
    except Refusal as refusal:
        card = refused_card(
            request.standing, approval_request, refusal, request.POST, door
        )
        status = refusal.status
    return card_response(request, approval_request, card, status)


@require_POST
@refusals_as_pages
def check(request: SignedIn, pk: UUID) -> HttpResponse:
    """Show the errors of an edit while it is being typed; nothing is decided."""
    approval_request = queries.get_request_for(request.standing, pk)
    card = card_for(request.standing, approval_request)
    if card.may_close:
        try:
            answer = Answer(
                Verdict.EDIT, edited_input=edited_input(approval_request, request.POST)
            )
            _check(approval_request, answer, sent_door(request.POST))
        except Invalid as refusal:
            card = with_answering(card, errors=refusal.errors, typed=request.POST)
    return render(request, "approvals/forms/_problems.html", {"card": card})


def _check(approval_request: ApprovalRequest, answer: Answer, via: Door) -> None:
    checking.check(
        approval_request, answer, via, known_of(approval_request, answer, via)
    )


def _review(
    request: SignedIn, approval_request: ApprovalRequest, may_close: bool
) -> Review:
    """Return the changes of the edit. Raise AlreadyDecided, Expired, NotAllowed or Invalid."""
    if not approval_request.pending:
        raise checking.too_late(approval_request.decision)
    if not may_close:
        raise NotAllowed(why_not(request.standing, approval_request))
    sent = sent_decision(approval_request, request.POST)
    _check(
        approval_request, replace(sent, verdict=Verdict.EDIT), sent_door(request.POST)
    )
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in FORM_FIELDS
        for value in values
    ]
    return Review(
        changes(
            approval_request.voted_input,
            sent.edited_input,
            approval_request.secrets or (),
        ),
        fields,
        sent.comment,
    )
