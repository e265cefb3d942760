"""The language and the time zone of a response: those that its user has chosen, else LANGUAGE_CODE and TIME_ZONE."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import override

from approvals.access.callers import is_for_machines
from approvals.http import SignedIn
from approvals.queries.languages import language_of, zone_of
from approvals.queries.preferences import page_state


class LanguageMiddleware:
    """Activates the language and the time zone of the user of a page, which reads the same row of preferences.

    Django's own middleware goes by the browser, and offers only languages that Django itself is translated into.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_machines(request.path) or not request.user.is_authenticated:
            return self.get_response(request)
        page = cast(SignedIn, request)
        page.state = page_state(page.user)
        page.preferences = page.state.preferences
        page.standing = page.state.standing
        language = language_of(page.preferences)
        with override(language), timezone.override(zone_of(page.preferences)):
            response = self.get_response(page)
        if len(settings.HITL_LANGUAGES) > 1:
            response.headers.setdefault("Content-Language", language)
        return response
