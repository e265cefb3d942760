"""Who may open the pages of administration, and how a form that was refused is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from django import forms
from django.http import HttpResponse
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.exceptions import NotFound, Refusal
from approvals.http import View, refusal_page, refusals_as_pages

P = ParamSpec("P")
#: A form that was refused is shown again with its errors.
REFUSED = 422


def administrators_only(view: View[P]) -> Callable[..., HttpResponse]:
    """Answer everyone else as if there were no such page."""

    answered = refusals_as_pages(view)

    @wraps(view)
    def wrapped(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not permissions.may_administer(request.user):
            words = _("Page not found. It may not exist, or you may not have access.")
            return refusal_page(request, NotFound(words))
        return answered(request, *args, **kwargs)

    return wrapped


def refuse(form: forms.BaseForm, refusal: Refusal) -> None:
    """Show a refusal of the action above the form."""
    form.add_error(None, str(refusal))


def status_of(form: forms.BaseForm) -> int:
    """Return the status of a page with this form."""
    return REFUSED if form.is_bound and form.errors else 200
