"""Views to claim, unassign, assign and comment on a request. Every write goes through `actions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.assignees import holder_for
from approvals.access.usernames import shown_person
from approvals.exceptions import Invalid, NotFound, Refusal
from approvals.forms.decision import sent_door
from approvals.http import (
    SignedIn,
    actor_of,
    refusal_of,
    refusals_as_pages,
    sent_address,
)
from approvals.models import ApprovalRequest
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.pages.cards import card_for
from approvals.pages.request import request_response
from approvals.queries import comments
from approvals.shown.notes import notes_for


@require_POST
@refusals_as_pages
def claim(request: SignedIn, pk: UUID) -> HttpResponse:
    door = sent_door(request.POST)
    over = request.POST.get("over", "")
    return _assignee_response(
        request,
        pk,
        lambda: actions.claim(pk, by=actor_of(request), via=door, over=over),
    )


@require_POST
@refusals_as_pages
def release(request: SignedIn, pk: UUID) -> HttpResponse:
    return _assignee_response(
        request,
        pk,
        lambda: actions.release(pk, by=actor_of(request), via=sent_door(request.POST)),
    )


@require_POST
@refusals_as_pages
def assign(request: SignedIn, pk: UUID) -> HttpResponse:
    """Assign to the person named in `to`, or with `back` to no one."""
    back = "back" in request.POST
    name = "" if back else request.POST.get("to", "").strip()

    def act() -> None:
        to = None if back else queries.user_named(name)
        seen = request.POST.get("instead_of", "")
        actions.assign(
            pk,
            by=actor_of(request),
            via=sent_door(request.POST),
            to=to,
            instead_of=seen,
        )

    refusal = refusal_of(act)
    approval_request = queries.requests_for(request.standing).filter(pk=pk).first()
    if approval_request is None and refusal is None:
        message = _("Assigned to %(name)s. You can no longer see this request.") % {
            "name": name
        }
        messages.success(
            request,
            _("Unassigned. You can no longer see this request.") if back else message,
        )
        return _redirect(request, reverse("approvals:dashboard"))
    if approval_request is None:
        raise NotFound
    return _notes_response(
        request,
        approval_request,
        refusal,
        assign_to=name if refusal else "",
        typed=_note_in(request),
    )


@require_POST
@refusals_as_pages
def comment(request: SignedIn, pk: UUID) -> HttpResponse:
    text = _note_in(request)
    refusal = refusal_of(
        lambda: actions.comment(
            pk, by=actor_of(request), via=sent_door(request.POST), text=text
        )
    )
    approval_request = queries.get_request_for(request.standing, pk)
    return _notes_response(
        request,
        approval_request,
        refusal,
        assign_to=request.POST.get("to", ""),
        typed=text if refusal else "",
    )


@require_GET
@refusals_as_pages
def mentions(request: SignedIn, pk: UUID) -> HttpResponse:
    """Return people that a note may mention, for `static/pausepoint/mentions.js`: readers of the request that match `q`."""
    approval_request = queries.get_request_for(request.standing, pk)
    text = request.GET.get("q", "")
    if (
        not permissions.may_comment(request.standing, approval_request)
        or len(text) > MAX_ACTOR_NAME
        or "\x00" in text
    ):
        return JsonResponse({"people": []})
    people = comments.people_to_mention(request.standing, approval_request, text)
    shown = [
        {"name": person.get_username(), "label": shown_person(person)}
        for person in people
    ]
    return JsonResponse({"people": shown})


@require_GET
@refusals_as_pages
def people(request: SignedIn, pk: UUID) -> HttpResponse:
    """Return usernames that match `q`, for a person field with `static/pausepoint/combobox.js`."""
    approval_request = queries.get_request_for(request.standing, pk)
    text = request.GET.get("q", "").strip()
    if len(text) > MAX_ACTOR_NAME or "\x00" in text:
        return JsonResponse({"values": []})
    return JsonResponse(
        {"values": comments.people_known_to(request.standing, approval_request, text)}
    )


def _note_in(request: SignedIn) -> str:
    return request.POST.get("text", "").replace("\r\n", "\n")


def _status(refusal: Refusal | None) -> int:
    return HTTPStatus.OK if refusal is None else refusal.status


def _assignee_response(
    request: SignedIn, pk: UUID, act: Callable[[], Any]
) -> HttpResponse:
    """Act, then return the assignee line, with the refusal if there was one; without htmx, the whole page."""
    refusal = refusal_of(act)
    approval_request = queries.get_request_for(request.standing, pk)
    holder = holder_for(request.standing, approval_request, refusal=str(refusal or ""))
    card = replace(
        card_for(request.standing, approval_request, door=sent_door(request.POST)),
        holder=holder,
    )
    if request.headers.get("HX-Request"):
        context = {"card": card, "asked": card.request, "focus": True}
        return render(
            request, "approvals/people/_assignee.html", context, status=_status(refusal)
        )
    if refusal is None:
        return HttpResponseRedirect(
            sent_address(request, "next") or approval_request.get_absolute_url()
        )
    return request_response(request, approval_request, card, status=refusal.status)


def _notes_response(
    request: SignedIn,
    approval_request: ApprovalRequest,
    refusal: Refusal | None,
    **typed: str,
) -> HttpResponse:
    """Return the notes with the refusal, if any, and the unsaved input; without htmx, the whole page."""
    notes = replace(notes_for(request.standing, approval_request), **typed)  # type: ignore[arg-type]
    if refusal is not None:
        errors = refusal.errors if isinstance(refusal, Invalid) else {}
        notes = replace(notes, refusal=str(refusal), errors=errors)
    if request.headers.get("HX-Request"):
        # Include the assignee, in case no push arrives.
        context = {
            "notes": notes,
            "focus": True,
            "card": card_for(request.standing, approval_request),
            "swapped": True,
        }
        return render(
            request, "approvals/people/_notes.html", context, status=_status(refusal)
        )
    if refusal is None:
        return HttpResponseRedirect(approval_request.get_absolute_url() + "#notes")
    card = card_for(request.standing, approval_request)
    return request_response(
        request, approval_request, card, status=refusal.status, notes=notes, focus=True
    )


def _redirect(request: SignedIn, address: str) -> HttpResponse:
    """Redirect to another page, also if htmx sent the request."""
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)
