"""Middleware of a server under test: the conformance suite cannot send a key, so it gets one."""

from __future__ import annotations

import os
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class WithKey:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META.setdefault("HTTP_AUTHORIZATION", f"Bearer {os.environ['CONFORMANCE_KEY']}")
        # The server has looked for a key before any middleware, and Django keeps the headers that it saw.
        vars(request).pop("headers", None)
        return self.get_response(request)
