"""Client tokens: short-lived, for one chat of one user, so that no browser page needs an API key."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field, PlainValidator

from approvals.access import callers
from approvals.access.callers import MAX_TOKEN_SECONDS, TOKEN_SECONDS, Caller
from approvals.api.bodies import Body, json_object
from approvals.api.frame import endpoint
from chats.protocols.bodies import Id

NO_MORE = gettext_lazy("A client token cannot create other tokens. Use an API key.")


def _seconds(value: object) -> int:
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not 60 <= value <= MAX_TOKEN_SECONDS
    ):
        raise ValueError(
            _("must be a whole number from 60 to %(limit)s")
            % {"limit": MAX_TOKEN_SECONDS}
        )
    return value


class NewToken(Body):
    refusal = gettext_lazy("The token request is invalid.")

    chat: Id = Field("", validate_default=True)
    seconds: Annotated[int, PlainValidator(_seconds)] = TOKEN_SECONDS


@endpoint("POST", "ask", tokens=NO_MORE, counts=True)
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Create a token: `{"chat": id, "seconds"?: 60..3600}` to `{"token", "chat", "scopes", "expires_at"}`.

    The chat need not exist yet.
    """
    sent = NewToken.read(json_object(request))
    token = callers.client_token(caller, thread=sent.chat, seconds=sent.seconds)
    created = {
        "token": token,
        "chat": sent.chat,
        "scopes": sorted(caller.scopes & callers.TOKEN_SCOPES),
        "expires_at": callers.client_token_end(caller, sent.seconds).isoformat(),
    }
    return JsonResponse(
        created, status=HTTPStatus.CREATED, headers={"Cache-Control": "no-store"}
    )
