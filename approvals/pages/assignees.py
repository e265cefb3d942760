"""Doors for people who take a request, hand it over or talk about it. Every write goes through `actions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import actions, queries
from approvals.access.assignees import holder_for
from approvals.exceptions import Invalid, NotFound, Refusal
from approvals.forms.decision import sent_door
from approvals.http import SignedIn, refusal_of, refusals_as_pages, sent_address
from approvals.models import ApprovalRequest
from approvals.pages.cards import card_for
from approvals.pages.request import request_response
from approvals.queries import comments


@require_POST
@refusals_as_pages
def claim(request: SignedIn, pk: UUID) -> HttpResponse:
    door, over = sent_door(request.POST), request.POST.get("over", "")
    return _held(request, pk, lambda: actions.claim(pk, by=request.user, via=door, over=over))


@require_POST
@refusals_as_pages
def release(request: SignedIn, pk: UUID) -> HttpResponse:
    return _held(request, pk, lambda: actions.release(pk, by=request.user, via=sent_door(request.POST)))


@require_POST
@refusals_as_pages
def assign(request: SignedIn, pk: UUID) -> HttpResponse:
    """Hand over to the person named in `to`, or `back` to all."""
    back = "back" in request.POST
    name = "" if back else request.POST.get("to", "").strip()

    def act() -> None:
        to = None if back else queries.user_named(name)
        seen = request.POST.get("instead_of", "")
        actions.assign(pk, by=request.user, via=sent_door(request.POST), to=to, instead_of=seen)

    refusal = refusal_of(act)
    found = queries.requests_for(request.user).filter(pk=pk).first()
    if found is None and refusal is None:
        said = _("Assigned to %(name)s. You can no longer see this request.") % {"name": name}
        messages.success(request, _("Unassigned. You can no longer see this request.") if back else said)
        return _away(request, reverse("approvals:dashboard"))
    if found is None:
        raise NotFound
    return _thread(request, found, refusal, handed_to=name)


@require_POST
@refusals_as_pages
def comment(request: SignedIn, pk: UUID) -> HttpResponse:
    typed = request.POST.get("text", "").replace("\r\n", "\n")
    refusal = refusal_of(lambda: actions.comment(pk, by=request.user, via=sent_door(request.POST), text=typed))
    return _thread(request, queries.get_request_for(request.user, pk), refusal, typed=typed)


def _status(refusal: Refusal | None) -> int:
    return HTTPStatus.OK if refusal is None else refusal.status


def _held(request: SignedIn, pk: UUID, act: Callable[[], Any]) -> HttpResponse:
    """The line that says who is on it, after the act or with the reason why there was none; the whole page without htmx."""
    refusal = refusal_of(act)
    found = queries.get_request_for(request.user, pk)
    holder = holder_for(request.user, found, refusal=str(refusal or ""))
    card = replace(card_for(request.user, found, door=sent_door(request.POST)), holder=holder)
    if request.headers.get("HX-Request"):
        context = {"card": card, "asked": found, "focus": True}
        return render(request, "approvals/people/_assignee.html", context, status=_status(refusal))
    if refusal is None:
        return HttpResponseRedirect(sent_address(request, "next") or found.get_absolute_url())
    return request_response(request, card, status=refusal.status)


def _thread(request: SignedIn, found: ApprovalRequest, refusal: Refusal | None, **typed: str) -> HttpResponse:
    """The thread after the act, or with the reason and what was typed; the whole page without htmx."""
    thread = comments.thread_for(request.user, found)
    if refusal is not None:
        errors = refusal.errors if isinstance(refusal, Invalid) else {}
        thread = replace(thread, refusal=str(refusal), errors=errors, **typed)  # type: ignore[arg-type]
    if request.headers.get("HX-Request"):
        # What was changed shows at once, though no push may come.
        context = {"thread": thread, "focus": True, "card": card_for(request.user, found), "swapped": True}
        return render(request, "approvals/people/_notes.html", context, status=_status(refusal))
    if refusal is None:
        return HttpResponseRedirect(found.get_absolute_url() + "#notes")
    card = card_for(request.user, found)
    return request_response(request, card, status=refusal.status, thread=thread, focus=True)


def _away(request: SignedIn, address: str) -> HttpResponse:
    """To another page, by htmx too."""
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)
