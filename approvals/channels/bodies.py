"""The raw bodies that channels post."""

from __future__ import annotations

from django.http import HttpRequest


def raw_body(request: HttpRequest, most: int) -> bytes | None:
    """Return the raw body of a request; None if it has more than `most` bytes."""
    declared = request.headers.get("Content-Length", "")
    if declared.isdecimal() and len(declared) < 12 and int(declared) > most:
        return None
    body = request.read(most + 1)
    return None if len(body) > most else body
