"""The pages of a seeded check. It has the addresses of a request, and answers where there is no such request."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render

from approvals.actions import attention
from approvals.exceptions import Refusal
from approvals.forms.decision import sent_decision, sent_door
from approvals.forms.safeguards import amount_of, unseen
from approvals.http import SignedIn
from approvals.models import SeededCheck
from approvals.pages.cards import card_for, refused_card
from approvals.pages.request import card_response, request_response
from approvals.queries.attention.seeded import NO_WORKFLOW, as_request, check_for, waiting_check_of
from approvals.states import Verdict
from approvals.text.text import visible

#: The URL names whose GET is the page; of the others, those that a person opens lead there.
PAGE, LEADING = "request", {"grant", "record"}
#: What a page asks for while someone types: a check has nothing to say to it.
TYPING = "check"


def or_check(view: Callable[..., HttpResponseBase], name: str) -> Callable[..., HttpResponseBase]:
    """Answer for a check where a view of a request finds none; without such a check, its answer stays."""

    @wraps(view)
    def wrapped(request: SignedIn, pk: UUID, **captured: Any) -> HttpResponseBase:
        response = view(request, pk, **captured)
        if response.status_code != HTTPStatus.NOT_FOUND:
            return response
        check = check_for(request.standing, pk)
        return response if check is None else _answer(request, check, name) or response

    return wrapped


def or_check_of_workflow(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Lead from the workflow that a check seems to belong to, which is in no table, back to the check."""

    @wraps(view)
    def wrapped(request: SignedIn, pk: int) -> HttpResponseBase:
        check = waiting_check_of(request.standing) if pk == NO_WORKFLOW else None
        return view(request, pk) if check is None else redirect("approvals:request", check.pk)

    return wrapped


def _answer(request: SignedIn, check: SeededCheck, name: str) -> HttpResponse | None:
    if request.method != "POST":
        if name in LEADING:
            return redirect("approvals:request", check.pk)
        if name != PAGE:
            return None
        shown = as_request(check)
        return (
            _result(request, check)
            if check.decided_at
            else request_response(request, card_for(request.standing, shown))
        )
    if name == TYPING:
        return HttpResponse()
    return _decide(request, check) if name == "decide" else _result(request, _answered(request, check, None))


def _decide(request: SignedIn, check: SeededCheck) -> HttpResponse:
    """Take a decision as a request would, with its refusals, and show at once what was right."""
    shown, door = as_request(check), sent_door(request.POST)
    if check.decided_at:
        return _result(request, check)
    try:
        answer = sent_decision(shown, request.POST, request.FILES)
    except Refusal as refusal:
        return card_response(
            request, refused_card(request.standing, shown, refusal, request.POST, door), refusal.status
        )
    left = amount_of(unseen(shown, answer.verdict, request.POST)).get("parts", 0)
    return _result(request, _answered(request, check, answer.verdict, left))


def _answered(request: SignedIn, check: SeededCheck, verdict: Verdict | None, left: int = 0) -> SeededCheck:
    return attention.answer_check(check.pk, by=request.user, verdict=verdict, unseen=left)


def _result(request: SignedIn, check: SeededCheck) -> HttpResponse:
    context = {
        "check": check,
        "title": visible(check.case.title),
        "approved": check.verdict in {Verdict.APPROVE, Verdict.EDIT},
        "rejected": check.verdict == Verdict.REJECT,
        "should_approve": check.case.expected == Verdict.APPROVE,
    }
    if not request.headers.get("HX-Request"):
        return render(request, "approvals/attention/check.html", context)
    response = render(request, "approvals/attention/_check.html", context)
    # Whatever was pressed: the answer takes the place of the card.
    response.headers["HX-Retarget"], response.headers["HX-Reswap"] = f"#request-{check.pk}", "outerHTML"
    return response
