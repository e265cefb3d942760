"""Restrict pages to administrators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.http import Http404, HttpResponse

from approvals.access import permissions
from approvals.http import SignedIn, View, refusals_as_pages

P = ParamSpec("P")


def administrators_only(view: View[P]) -> Callable[..., HttpResponse]:
    """Respond to everyone else as if the page did not exist."""

    @refusals_as_pages
    def guarded(
        request: SignedIn, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not permissions.may_administer(request.standing):
            raise Http404
        return view(request, *args, **kwargs)

    return wraps(view)(guarded)
