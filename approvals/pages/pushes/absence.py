"""Pushes when a person goes away or returns, to the open pages of that person and their delegate: each one's requests now."""

from __future__ import annotations

from django.db.models import Q
from django.template.loader import render_to_string

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing, standings_of
from approvals.db.literal import literal
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.cards import card_for
from approvals.queries import request_list
from approvals.states import Status


def requests_of_absent(
    absent: int, shared: BatchCache, *, limit: int
) -> list[ApprovalRequest] | None:
    """Return the waiting requests whose decision depends on this person's presence; None if there are too many.

    These are all requests visible through their scopes, and those decided by votes.
    """

    def read() -> list[ApprovalRequest]:
        person = standings_of({absent}).get(absent)
        if person is None or not person.is_active:
            return []
        matters = Q() if person.is_limited else Q(terms__isnull=False)
        waiting = queries.with_names(queries.requests_for(person)).filter(
            matters, status=literal(Status.PENDING)
        )
        return list(
            request_list.listed(waiting.order_by("-changed_at"), whole=True)[
                : limit + 1
            ]
        )

    requests = shared.once(("requests of absent", absent), read)
    return requests if len(requests) <= limit else None


def render_card(viewer: Standing, request: ApprovalRequest) -> str:
    """Render a request's card for this person as of now, without announcing it, or its removal if they no longer see it."""
    if not permissions.may_see(viewer, request):
        return render_to_string(
            "approvals/people/_push_gone.html", {"pk": request.pk, "is_back": True}
        )
    return render_to_string(
        "approvals/request/_pushed.html", {"card": card_for(viewer, request)}
    )
