"""Answers that come when a request has ended: no thread and no connection waits along."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from approvals import dbpool, machines, waitingroom
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.handover import answered_later
from approvals.machines import Caller
from approvals.views import refusal_page


def when_ended(
    request: HttpRequest, request_id: UUID, seconds: float, tell: Callable[[Caller], HttpResponse]
) -> HttpResponse:
    """What `tell` says when the request has ended, at the latest after `seconds`; who calls is looked up anew by then."""
    credentials = machines.credentials_of(request)

    def now() -> HttpResponse:
        try:
            caller = credentials.caller()
            if caller is None:
                raise NotAuthenticated
            return tell(caller)
        except Refusal as refusal:
            return refusal_page(request, refusal)

    async def later() -> HttpResponse:
        await waitingroom.ended(request_id, seconds)
        return await dbpool.run(now)

    return answered_later(request, later)
