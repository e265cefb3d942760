"""Restrict pages to administrators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from django.http import HttpResponse
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.exceptions import NotFound
from approvals.http import View, refusal_page, refusals_as_pages

P = ParamSpec("P")


def administrators_only(view: View[P]) -> Callable[..., HttpResponse]:
    """Respond to everyone else as if the page did not exist."""

    answered = refusals_as_pages(view)

    @wraps(view)
    def wrapped(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not permissions.may_administer(request.standing):
            message = _("Page not found. It may not exist, or you may not have access.")
            return refusal_page(request, NotFound(message))
        return answered(request, *args, **kwargs)

    return wrapped
