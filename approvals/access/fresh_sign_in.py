"""A recent log-in, where the terms of a request require one of whoever decides it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.exceptions import DecideOnPage
from approvals.models import ApprovalRequest
from approvals.policy.terms import terms_of
from approvals.states import OWN_PAGES, Door


class SignInAgain(DecideOnPage):
    """The decision requires a recent log-in in a browser; `here` if the call came from one."""

    code = "sign_in_again"

    def __init__(self, request: ApprovalRequest, *, here: bool) -> None:
        again = _(
            "This request needs a fresh log-in. Log in again to decide it. Nothing was decided."
        )
        elsewhere = _(
            "This request needs a fresh log-in. Decide it on its own page in Pausepoint:"
        )
        super().__init__(elsewhere, request)
        if here:
            self.args = (again,)


def signed_in_at(session: SessionBase) -> datetime | None:
    """Return when the person of this session last authenticated, as recorded by allauth; None if unknown."""
    records = session.get("account_authentication_methods")
    moments = (
        [each.get("at") for each in records if isinstance(each, dict)]
        if isinstance(records, list)
        else []
    )
    seconds = [moment for moment in moments if isinstance(moment, int | float)]
    return datetime.fromtimestamp(max(seconds), UTC) if seconds else None


def require_fresh_sign_in(
    request: ApprovalRequest, at: datetime | None, via: Door
) -> None:
    """Raise SignInAgain if the terms require a recent log-in and `at` is too old."""
    if not terms_of(request.terms).fresh_sign_in:
        return
    lasts = timedelta(seconds=settings.HITL_FRESH_SIGN_IN)
    if via not in OWN_PAGES or at is None or at < timezone.now() - lasts:
        raise SignInAgain(request, here=via in OWN_PAGES)
