"""The language of a response: the one that its user has chosen, else LANGUAGE_CODE."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.translation import override

from approvals.access.callers import is_for_machines
from approvals.queries.languages import language_of
from approvals.queries.preferences import preferences_of


class LanguageMiddleware:
    """Activates the language of the user of a page. Costs nothing where there is only one.

    Django's own middleware goes by the browser, and offers only languages that Django itself is translated into.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if len(settings.HITL_LANGUAGES) < 2:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_machines(request.path) or not request.user.is_authenticated:
            return self.get_response(request)
        language = language_of(preferences_of(request.user))
        with override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        return response
