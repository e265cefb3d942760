"""The page opened by a link in a mail, with one button that submits the verdict of the link."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals import queries
from approvals.access.usernames import shown_person
from approvals.actions import checking
from approvals.actions.decisions.facts import known_of
from approvals.asking.answers import Answer
from approvals.exceptions import NotFound
from approvals.http import SignedIn, refusals_as_pages
from approvals.outbound.links import verdict_of_link
from approvals.pages.cards import card_for
from approvals.states import Door, Kind, Verdict


@require_GET
@refusals_as_pages
def confirm(request: SignedIn, pk: UUID, token: str) -> HttpResponse:
    """Show the request with a button for the verdict of the link; if it is already decided, show its page."""
    approval_request = queries.get_request_for(request.standing, pk)
    verdict = verdict_of_link(token, approval_request, request.user)
    if verdict is None:
        raise NotFound(
            _(
                "This link is not valid, or is for someone else. Open the request from your Inbox."
            )
        )
    card = card_for(request.standing, approval_request)
    if not card.may_close or approval_request.kind != Kind.APPROVAL:
        return redirect(approval_request)
    rejects = verdict == Verdict.REJECT
    answer = Answer(verdict)
    strict = checking.needs_reason(
        approval_request, answer, known_of(approval_request, answer, Door.DASHBOARD)
    )
    context = {
        "card": card,
        "requester": shown_person(approval_request.requested_by),
        "verdict": verdict,
        "approves": not rejects,
        "reason_required": strict,
    }
    return render(request, "approvals/request/confirm.html", context)
