"""A recent log-in, where the terms of a request or the settings require one."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.exceptions import DecideOnPage
from approvals.models import ApprovalRequest
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


def is_fresh(at: datetime | None) -> bool:
    """Return whether this log-in is recent enough for what needs a fresh one."""
    lasts = timedelta(seconds=settings.HITL_FRESH_SIGN_IN)
    return at is not None and at >= timezone.now() - lasts


def refuse_old_sign_in(
    request: ApprovalRequest, at: datetime | None, via: Door
) -> SignInAgain | None:
    """Return the refusal of a decision that needs a recent log-in, unless it came from a page after one at `at`."""
    here = via in OWN_PAGES
    return None if here and is_fresh(at) else SignInAgain(request, here=here)
