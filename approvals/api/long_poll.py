"""Respond when a request has ended, without holding a thread or a database connection."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPMethod
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from approvals import actions, queries
from approvals.access import callers
from approvals.access.callers import Caller
from approvals.api.outcomes import ReadRequest, for_caller
from approvals.background import waiting_room
from approvals.db import pool
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.http import refusal_page
from approvals.live.streaming import deferred_response


def read_request(caller: Caller, request_id: UUID) -> ReadRequest:
    """Return a request that the caller may see, masked for the caller. Raise NotFound."""
    return for_caller(caller, queries.get_request_for(caller.standing, request_id))


def read_due_request(caller: Caller, request_id: UUID) -> ReadRequest:
    """Like `read_request`, but expire the request if it is due: the sweep may run a moment after the wait. Raise NotFound."""
    request = read_request(caller, request_id)
    if (
        request.row.pending
        and request.row.deadline_at is not None
        and actions.expire(request_id)
    ):
        return read_request(caller, request_id)
    return request


def respond_when_ended(
    request: HttpRequest,
    caller: Caller,
    awaited: ReadRequest | UUID,
    seconds: float,
    respond: Callable[[ReadRequest], HttpResponse],
    *,
    read: Callable[[Caller, UUID], ReadRequest] = read_request,
) -> HttpResponse:
    """Return the response of `respond` to the request when it has ended, or after `seconds`; HEAD does not wait.

    `awaited` is the request, or its id if it was not read yet. `read` reads it, and again after the wait.
    """
    known, request_id = (
        (None, awaited) if isinstance(awaited, UUID) else (awaited, awaited.row.pk)
    )
    # The handler for HEAD calls the view like GET.
    if not seconds or request.META["REQUEST_METHOD"] == HTTPMethod.HEAD:
        return respond(known or read(caller, request_id))
    if known is not None and not known.row.pending:
        return respond(known)

    def response_of(caller: Caller) -> HttpResponse:
        return respond(read(caller, request_id))

    def if_ended() -> HttpResponse | None:
        try:
            approval_request = read(caller, request_id)
        except Refusal as refusal:
            return refusal_page(request, refusal)
        return None if approval_request.row.pending else respond(approval_request)

    now = answer_anew(request, response_of)

    async def later() -> HttpResponse:
        response = await waiting_room.wait_until_ended(request_id, seconds, if_ended)
        return await pool.run(now) if response is None else response

    return deferred_response(request, later)


def answer_anew(
    request: HttpRequest, respond: Callable[[Caller], HttpResponse]
) -> Callable[[], HttpResponse]:
    """Return a function that makes the response after a wait; it looks up the caller again, as the key may have been revoked."""
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
