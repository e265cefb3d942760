"""Restrict pages to administrators, and require a fresh log-in if the settings say so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.fresh_sign_in import is_fresh, signed_in_at
from approvals.exceptions import NotAllowed
from approvals.http import SignedIn, View, refusals_as_pages

P = ParamSpec("P")


def administrators_only(view: View[P]) -> Callable[..., HttpResponse]:
    """Respond to everyone else as if the page did not exist."""

    def guarded(
        request: SignedIn, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not permissions.may_administer(request.standing):
            raise Http404
        return fresh(request, *args, **kwargs)

    fresh = with_fresh_log_in(view)
    return wraps(view)(refusals_as_pages(guarded))


def with_fresh_log_in(view: View[P]) -> Callable[..., HttpResponse]:
    """Require a fresh log-in if the settings require it for administration."""

    @refusals_as_pages
    def guarded(
        request: SignedIn, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        needed = "administration" in settings.HITL_FRESH_SIGN_IN_FOR
        if needed and not is_fresh(signed_in_at(request.session)):
            if request.method in {"GET", "HEAD"}:
                query = urlencode({"next": request.get_full_path()})
                return redirect(f"{reverse('account_reauthenticate')}?{query}")
            # A form is not kept to run it after the log-in.
            raise NotAllowed(
                _(
                    "This needs a fresh log-in. Nothing was changed. Go back, open the page again to log in, and send "
                    "the form again."
                )
            )
        return view(request, *args, **kwargs)

    return wraps(view)(guarded)
