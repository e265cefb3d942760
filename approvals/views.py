"""The desk's pages. Every read goes through `queries`, every write through `actions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from approvals import actions, queries
from approvals.cards import Card, card_for, refused_card
from approvals.care import shown_digest
from approvals.exceptions import NotFound, Refusal, WrongMethod
from approvals.forms import sent_decision, sent_door
from approvals.machines import caller_of, is_for_machines
from approvals.pages import counts, ended_place, suspended_place, workflow_card
from approvals.paging import number_from, place_from
from approvals.precedents import precedents_of
from approvals.results import results_of
from approvals.threads import thread_for
from approvals.translation import title_of

COMPLETED_SHOWN = 20

P = ParamSpec("P")


class SignedIn(HttpRequest):
    """A request of a logged-in person; LoginRequiredMiddleware lets no other in."""

    user: User


View = Callable[Concatenate[SignedIn, P], HttpResponse]


def refusals_as_pages(view: View[P]) -> Callable[..., HttpResponse]:
    """A refusal becomes a page with its own status and words."""

    @wraps(view)
    def wrapped(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Refusal as refusal:
            return refusal_page(request, refusal)

    return wrapped


def endpoint(method: str) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """A view for machines, `view(request, caller, ...)`: one method, a known caller, refusals as problem documents."""

    def decorated(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                if request.method not in {method, "HEAD" if method == "GET" else method}:
                    raise WrongMethod(method)
                return view(request, caller_of(request), *args, **kwargs)
            except WrongMethod as refusal:
                response = refusal_page(request, refusal)
                response.headers["Allow"] = method
                return response
            except Refusal as refusal:
                return refusal_page(request, refusal)

        return wrapped

    return decorated


def refusal_page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    response = problem(request, HTTPStatus(refusal.status), str(refusal), refusal.code, refusal.members())
    for name, value in refusal.headers().items():
        response.headers[name] = value
    return response


def problem(
    request: HttpRequest, status: HTTPStatus, detail: str, code: str, members: Mapping[str, Any] | None = None
) -> HttpResponse:
    """What went wrong: a page, a line above the form that was sent by htmx, or for machines a document (RFC 9457)."""
    context = {"title": title_of(status), "status": status.value, "detail": detail}
    best = request.get_preferred_type(["text/html", "application/json"])
    if is_for_machines(request.path) or best == "application/json":
        body = {"type": "about:blank", **context, "code": code, **(members or {})}
        response: HttpResponse = JsonResponse(body, status=status, content_type="application/problem+json")
        if status == HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response
    if request.headers.get("HX-Request"):
        # Above it, and not in its place: what was typed there stays.
        response = render(request, "_problem.html", context, status=status)
        response.headers["HX-Reswap"] = "beforebegin"
        return response
    return render(request, "problem.html", context, status=status)


@require_GET
def dashboard(request: SignedIn) -> HttpResponse:
    rendered_at = timezone.now()
    after = place_from(request.GET.get("after", ""))
    page = list(queries.suspended_workflows_for(request.user, after=after)[: queries.PAGE + 1])
    suspended, more = page[: queries.PAGE], len(page) > queries.PAGE
    context = {
        "rendered_at": rendered_at,
        "after": after,
        "suspended": [workflow_card(request.user, workflow) for workflow in suspended],
        "next": suspended_place(suspended[-1]) if more else None,
        "completed": list(queries.ended_workflows_for(request.user)[:COMPLETED_SHOWN]),
        **counts(request.user),
    }
    return render(request, "approvals/dashboard.html", context)


@require_GET
def workflows(request: SignedIn) -> HttpResponse:
    """All workflows that ended, page by page."""
    found = queries.ended_workflows_for(request.user, after=place_from(request.GET.get("after", "")))
    page = list(found[: queries.PAGE + 1])
    shown, more = page[: queries.PAGE], len(page) > queries.PAGE
    context = {"completed": shown, "next": ended_place(shown[-1]) if more else None}
    return render(request, "approvals/workflows.html", context)


@require_GET
@refusals_as_pages
def workflow(request: SignedIn, pk: int) -> HttpResponse:
    rendered_at = timezone.now()
    found = queries.get_workflow_for(request.user, pk)
    steps = list(queries.steps_of(request.user, found))
    trail = list(queries.trail_of(request.user, found))
    results = results_of(steps, among=trail or None)
    context = {
        "rendered_at": rendered_at,
        "workflow": found,
        "steps": [(card_for(request.user, step), results.get(step.pk)) for step in steps],
        "trail": trail,
    }
    return render(request, "approvals/workflow.html", context)


@require_GET
@refusals_as_pages
def request_page(request: SignedIn, pk: UUID) -> HttpResponse:
    rendered_at = timezone.now()
    found = queries.get_request_for(request.user, pk)
    return request_response(request, card_for(request.user, found), rendered_at=rendered_at)


def request_response(
    request: SignedIn,
    card: Card,
    *,
    rendered_at: datetime | None = None,
    status: int = HTTPStatus.OK,
    **instead: Any,
) -> HttpResponse:
    """The page of a request; `instead` is what a refused act has to say in place of a part of it, such as its `thread`."""
    context: dict[str, Any] = {
        "card": card,
        "workflow": card.request.workflow,
        "workflow_title": queries.workflow_title_for(request.user, card.request),
        "rendered_at": rendered_at or timezone.now(),
        "precedents": precedents_of(request.user, card.request),
        "result": results_of([card.request]).get(card.request.pk),
    }
    if "thread" not in instead:
        before = number_from(request.GET.get("before", ""))
        context["thread"] = thread_for(request.user, card.request, before=before)
    context |= instead
    return render(request, "approvals/request.html", context, status=status)


@require_POST
@refusals_as_pages
def decide(request: SignedIn, pk: UUID) -> HttpResponse:
    found = queries.get_request_for(request.user, pk)
    door = sent_door(request.POST)

    def act() -> None:
        shown = shown_digest(request.POST)
        sent = sent_decision(found, request.POST)
        actions.decide(
            pk,
            by=request.user,
            via=door,
            verdict=sent.verdict,
            comment=sent.comment,
            edited_input=sent.edited_input,
            answer=sent.answer,
            shown_digest=shown,
        )

    return _acted(request, pk, act)


@require_POST
@refusals_as_pages
def cancel(request: SignedIn, pk: UUID) -> HttpResponse:
    comment = request.POST.get("comment", "")
    return _acted(
        request, pk, lambda: actions.cancel(pk, by=request.user, via=sent_door(request.POST), comment=comment)
    )


def _acted(request: SignedIn, pk: UUID, act: Callable[[], Any]) -> HttpResponse:
    """The card after the act, or with the reason why there was none; a whole page or a redirect without htmx."""
    door, refusal = sent_door(request.POST), refusal_of(act)
    found = queries.get_request_for(request.user, pk)
    if refusal is None:
        card = card_for(request.user, found, door=door)
    else:
        card = refused_card(request.user, found, refusal, request.POST, door)
    status = refusal.status if refusal is not None else HTTPStatus.OK
    if request.headers.get("HX-Request"):
        return render(request, "approvals/_request.html", {"card": card, "focus": True}, status=status)
    if refusal is not None:
        return request_response(request, card, status=status)
    return HttpResponseRedirect(sent_address(request, "next") or found.get_absolute_url())


def refusal_of(act: Callable[[], Any]) -> Refusal | None:
    """Do it; gives why it was refused, where that can be said beside what was sent. NotFound."""
    try:
        act()
    except NotFound:
        raise
    except Refusal as refusal:
        return refusal
    return None


def sent_address(request: SignedIn, name: str) -> str:
    """The address on this site that a form carries in this field; empty where there is none, or it leads elsewhere."""
    target = request.POST.get(name, "")
    same_site = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if same_site else ""
