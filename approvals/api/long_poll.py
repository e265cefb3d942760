"""Answers that come when a request has ended: no thread and no connection waits along."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from approvals.access import callers
from approvals.access.callers import Caller
from approvals.background import waiting_room
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.http import refusal_page
from approvals.live.streaming import answered_later
from approvals.runtime import database


def when_ended(
    request: HttpRequest, request_id: UUID, seconds: float, tell: Callable[[Caller], HttpResponse]
) -> HttpResponse:
    """What `tell` says when the request has ended, at the latest after `seconds`; who calls is looked up anew by then."""
    credentials = callers.credentials_of(request)

    def now() -> HttpResponse:
        try:
            caller = credentials.caller()
            if caller is None:
                raise NotAuthenticated
            return tell(caller)
        except Refusal as refusal:
            return refusal_page(request, refusal)

    async def later() -> HttpResponse:
        await waiting_room.ended(request_id, seconds)
        return await database.run(now)

    return answered_later(request, later)
