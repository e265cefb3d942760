"""Middleware for a server under test: clients that cannot send a key, as the conformance suite, get one."""

from __future__ import annotations

import os
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class WithKey:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META.setdefault("HTTP_AUTHORIZATION", f"Bearer {os.environ['CONFORMANCE_KEY']}")
        return self.get_response(request)
