"""JSON bodies of requests to `/api/`: bounded before they are read, strict when they are."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from approvals.canonical import MAX_BYTES, NotCanonical, load
from approvals.exceptions import BadBody, NotJson, TooLarge


def json_body(request: HttpRequest, *, max_bytes: int = MAX_BYTES) -> Any:
    """The body as JSON. NotJson (another content type), TooLarge, BadBody."""
    if request.content_type != "application/json":
        raise NotJson
    # Not by the length that the client declares: it may declare none.
    body = request.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise TooLarge(f"The body is larger than {max_bytes:,} bytes.")
    try:
        return load(body)
    except NotCanonical as error:
        raise BadBody(f"The body cannot be used: {error}.") from error


def json_object(request: HttpRequest, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The body as a JSON object."""
    body = json_body(request, max_bytes=max_bytes)
    if not isinstance(body, dict):
        raise BadBody("The body has to be a JSON object.")
    return body
