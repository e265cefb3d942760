"""Client tokens: short-lived, for one chat of one user, so that no browser page needs an API key."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access import callers
from approvals.access.callers import MAX_TOKEN_SECONDS, TOKEN_SECONDS, Caller
from approvals.api.bodies import json_object
from approvals.api.frame import endpoint
from approvals.exceptions import Invalid
from chats.protocols.bodies import text_problem

NO_MORE = gettext_lazy("A client token cannot create other tokens. Use an API key.")


@endpoint("POST", "ask", tokens=NO_MORE, counts=True)
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Make a token: `{"chat": id, "seconds"?: 60..3600}` to `{"token", "chat", "scopes", "expires_at"}`.

    The chat need not exist yet.
    """
    body = json_object(request)
    seconds = body.get("seconds", TOKEN_SECONDS)
    errors = _errors(body, seconds)
    if errors:
        raise Invalid(_("The token request is invalid."), errors)
    token = callers.client_token(caller, thread=body["chat"], seconds=seconds)
    created = {
        "token": token,
        "chat": body["chat"],
        "scopes": sorted(caller.scopes & callers.TOKEN_SCOPES),
        "expires_at": (timezone.now() + timedelta(seconds=seconds)).isoformat(),
    }
    return JsonResponse(created, status=HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


def _errors(body: dict[str, Any], seconds: object) -> dict[str, str]:
    errors = {"chat": problem} if (problem := text_problem(body.get("chat"))) else {}
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 60 <= seconds <= MAX_TOKEN_SECONDS:
        errors["seconds"] = _("must be a whole number from 60 to %(limit)s") % {"limit": MAX_TOKEN_SECONDS}
    return errors
