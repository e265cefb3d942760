"""Respond when a request has ended; no thread and no database connection waits."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from approvals.access import callers
from approvals.access.callers import Caller
from approvals.background import waiting_room
from approvals.db import pool
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.http import refusal_page
from approvals.live.streaming import deferred_response


def respond_when_ended(
    request: HttpRequest, request_id: UUID, seconds: float, respond: Callable[[Caller], HttpResponse]
) -> HttpResponse:
    """Return a response that `respond` makes when the request has ended, or after `seconds`."""
    now = answer_anew(request, respond)

    async def later() -> HttpResponse:
        await waiting_room.wait_until_ended(request_id, seconds)
        return await pool.run(now)

    return deferred_response(request, later)


def answer_anew(request: HttpRequest, respond: Callable[[Caller], HttpResponse]) -> Callable[[], HttpResponse]:
    """Return what makes a response after a wait: the caller is looked up again, because a key may have been revoked."""
    credentials = callers.credentials_of(request)

    def now() -> HttpResponse:
        try:
            caller = credentials.caller()
            if caller is None:
                raise NotAuthenticated
            return respond(caller)
        except Refusal as refusal:
            return refusal_page(request, refusal)

    return now
