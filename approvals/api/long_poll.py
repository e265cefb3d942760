"""Respond when a request has ended; no thread and no database connection waits."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPMethod
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from approvals import actions, queries
from approvals.access import callers
from approvals.access.callers import Caller
from approvals.api.secrets import for_caller
from approvals.background import waiting_room
from approvals.db import pool
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.http import refusal_page
from approvals.live.streaming import deferred_response
from approvals.models import ApprovalRequest


def read_request(caller: Caller, request_id: UUID) -> ApprovalRequest:
    """Return a request that the caller may see, as the caller may read it. NotFound."""
    return for_caller(caller, queries.get_request_for(caller.standing, request_id))


def read_due_request(caller: Caller, request_id: UUID) -> ApprovalRequest:
    """Return a request that the caller may see, expired if it is due: the sweep may come a moment after the wait. NotFound."""
    request = read_request(caller, request_id)
    if request.pending and request.deadline_at is not None and actions.expire(request_id):
        return read_request(caller, request_id)
    return request


def respond_when_ended(
    request: HttpRequest,
    approval_request: ApprovalRequest,
    seconds: float,
    respond: Callable[[ApprovalRequest], HttpResponse],
    *,
    read: Callable[[Caller, UUID], ApprovalRequest] = read_request,
) -> HttpResponse:
    """Return a response that `respond` makes of the request when it has ended, or after `seconds`; HEAD does not wait.

    `read` reads it again after the wait.
    """
    if not approval_request.pending or not seconds or request.method == HTTPMethod.HEAD:
        return respond(approval_request)
    request_id = approval_request.pk
    now = answer_anew(request, lambda caller: respond(read(caller, request_id)))

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
