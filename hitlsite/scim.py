"""The address of SCIM 2.0, for keys with that scope alone."""

from __future__ import annotations

import json
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals.access.callers import SCIM, Caller
from approvals.access.permissions import may_administer
from approvals.api.frame import Endpoint
from approvals.exceptions import NotAllowed, TooLarge
from approvals.models.actors import KeyActor
from approvals.text.numbers import grouped

MAX_BODY = 1_000_000


class _Scim(Endpoint):
    """An endpoint of every method: the library knows which ones an address has."""

    def check(self, request: HttpRequest) -> None:
        return


def _respond(request: HttpRequest, caller: Caller, address: str = "") -> HttpResponse:
    """Respond in the form of SCIM."""
    from approvals.administration.scim.service import (  # noqa: PLC0415 - loaded late
        respond,
    )

    if not may_administer(caller.standing):
        raise NotAllowed(_("The person for whom this key acts no longer administers."))
    body = request.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        message = _("The body is larger than %(limit)s bytes. Send less.")
        raise TooLarge(message % {"limit": grouped(MAX_BODY)})
    result = respond(request, address, body, cast(KeyActor, caller.actor))
    content = "" if result.body is None else json.dumps(result.body)
    return HttpResponse(content, status=result.status, headers=result.headers)


scim = _Scim(_respond, "", SCIM, counts=True)
