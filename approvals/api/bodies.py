"""Read JSON bodies, bounded and strict, and idempotency keys of API requests."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals.db.canonical_json import MAX_BYTES, MAX_VALUES, NotCanonical, load
from approvals.exceptions import BadBody, Invalid, NotJson, TooLarge
from approvals.text.translation import translated

#: An `Idempotency-Key` is printable ASCII without spaces.
KEY_PATTERN, MAX_KEY = r"^[\x21-\x7e]+$", 200
#: The header of a response that repeats an earlier one.
REPLAYED = "Idempotent-Replayed"


def mark_replayed(response: HttpResponse, replayed: bool) -> None:
    """Say in the header of a response that it repeats an earlier one, if it does."""
    if replayed:
        response.headers[REPLAYED] = "true"


def json_body(request: HttpRequest, *, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES) -> Any:
    """Return the body as JSON. Raises NotJson (another content type), TooLarge and BadBody."""
    if request.content_type != "application/json":
        raise NotJson
    # The declared length is not enough: a client may declare none.
    body = request.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise TooLarge(_("The body is larger than %(limit)s bytes. Send less.") % {"limit": f"{max_bytes:,}"})
    try:
        return load(body, max_values=max_values)
    except NotCanonical as error:
        raise BadBody(_("The body could not be read: %(error)s.") % {"error": translated(error)}) from error


def json_object(request: HttpRequest, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return the body as a JSON object. Raises NotJson, TooLarge and BadBody."""
    body = json_body(request, max_bytes=max_bytes)
    if not isinstance(body, dict):
        raise BadBody(_("The body must be a JSON object."))
    return body


def idempotency_key(request: HttpRequest) -> str | None:
    """Return the `Idempotency-Key` header; None without one. Raises Invalid."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and (len(key) > MAX_KEY or not re.fullmatch(KEY_PATTERN, key)):
        words = _("must be 1 to %(limit)s printable ASCII characters without spaces") % {"limit": MAX_KEY}
        raise Invalid(_("The `Idempotency-Key` header is invalid."), {"Idempotency-Key": words})
    return key
