"""Restrict pages to administrators, and require a fresh log-in if the settings say so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.fresh_sign_in import is_fresh
from approvals.access.sessions import signed_in_at
from approvals.exceptions import NotAllowed
from approvals.http import SignedIn, View, refusal_page, refusals_as_pages

P = ParamSpec("P")


def administrators_only(view: View[P]) -> Callable[..., HttpResponse]:
    """Respond to everyone else as if the page did not exist."""

    def guarded(
        request: SignedIn, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not permissions.may_administer(request.standing):
            raise Http404
        return lead_to_log_in(request) or view(request, *args, **kwargs)

    return wraps(view)(refusals_as_pages(guarded))


def with_fresh_log_in(view: View[P]) -> Callable[..., HttpResponse]:
    """Require a fresh log-in if the settings require it for administration."""

    def guarded(
        request: SignedIn, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        return lead_to_log_in(request) or view(request, *args, **kwargs)

    return wraps(view)(refusals_as_pages(guarded))


def lead_to_log_in(request: HttpRequest) -> HttpResponse | None:
    """Return the response to an administrator who has to log in again first, if the settings require that; otherwise None."""
    needed = "administration" in settings.HITL_FRESH_SIGN_IN_FOR
    if not needed or is_fresh(signed_in_at(request.session)):
        return None
    if request.method in {"GET", "HEAD"}:
        query = urlencode({"next": request.get_full_path()})
        return redirect(f"{reverse('account_reauthenticate')}?{query}")
    # A form is not kept to run it after the log-in.
    message = _(
        "This needs a fresh log-in. Nothing was changed. Go back, open the page again to log in, and send "
        "the form again."
    )
    return refusal_page(request, NotAllowed(message))
