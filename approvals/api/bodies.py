"""What requests from machines bring: JSON bodies, bounded before they are read and strict when they are; names for a repeat."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from approvals.exceptions import BadBody, Invalid, NotJson, TooLarge
from approvals.runtime.canonical import MAX_BYTES, MAX_VALUES, NotCanonical, load
from approvals.runtime.translation import translated

#: What an `Idempotency-Key` may be: no spaces, and nothing that a header could not carry.
KEY_PATTERN, MAX_KEY = r"^[\x21-\x7e]+$", 200
#: On the answer to what was there already.
REPLAYED = "Idempotent-Replayed"


def json_body(request: HttpRequest, *, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES) -> Any:
    """The body as JSON. NotJson (another content type), TooLarge, BadBody."""
    if request.content_type != "application/json":
        raise NotJson
    # Not by the length that the client declares: it may declare none.
    body = request.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise TooLarge(_("The body is larger than %(limit)s bytes. Send less.") % {"limit": f"{max_bytes:,}"})
    try:
        return load(body, max_values=max_values)
    except NotCanonical as error:
        raise BadBody(_("The body could not be read: %(error)s.") % {"error": translated(error)}) from error


def json_object(request: HttpRequest, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The body as a JSON object."""
    body = json_body(request, max_bytes=max_bytes)
    if not isinstance(body, dict):
        raise BadBody(_("The body must be a JSON object."))
    return body


def idempotency_key(request: HttpRequest) -> str | None:
    """The `Idempotency-Key` header, None without. Invalid."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and (len(key) > MAX_KEY or not re.fullmatch(KEY_PATTERN, key)):
        words = _("must be 1 to %(limit)s printable ASCII characters without spaces") % {"limit": MAX_KEY}
        raise Invalid(_("The `Idempotency-Key` header is invalid."), {"Idempotency-Key": words})
    return key
