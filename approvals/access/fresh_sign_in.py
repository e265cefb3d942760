"""A recent log-in, where the terms of a request or the settings require one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.exceptions import DecideOnPage
from approvals.models import ApprovalRequest
from approvals.policy.terms import terms_of
from approvals.states import OWN_PAGES, Door, Kind, Priority


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
    """Return when the person of this session last authenticated, as recorded by allauth; None if unknown.

    For people with a second factor only the factor counts: a password alone would be the weaker proof.
    """
    stored = session.get("account_authentication_methods")
    records = (
        [each for each in stored if isinstance(each, dict)]
        if isinstance(stored, list)
        else []
    )
    by_factor = [each for each in records if each.get("method") == "mfa"]
    moments = [each.get("at") for each in by_factor or records]
    seconds = [moment for moment in moments if isinstance(moment, int | float)]
    return datetime.fromtimestamp(max(seconds), UTC) if seconds else None


def is_fresh(at: datetime | None) -> bool:
    """Return whether this log-in is recent enough for what needs a fresh one."""
    lasts = timedelta(seconds=settings.HITL_FRESH_SIGN_IN)
    return at is not None and at >= timezone.now() - lasts


def needs_fresh_sign_in(
    kind: str, priority: str, terms: Mapping[str, Any] | None
) -> bool:
    """Return whether the terms of a request or the settings require a recent log-in for its decision."""
    critical = kind == Kind.APPROVAL and priority == Priority.CRITICAL
    if critical and "critical" in settings.HITL_FRESH_SIGN_IN_FOR:
        return True
    return terms is not None and terms_of(terms).fresh_sign_in


def refuse_old_sign_in(
    request: ApprovalRequest, at: datetime | None, via: Door
) -> SignInAgain | None:
    """Return the refusal if the decision of a request needs a recent log-in and `at` is too old, by the clock of now."""
    here = via in OWN_PAGES
    if not needs_fresh_sign_in(request.kind, request.priority, request.terms):
        return None
    return None if here and is_fresh(at) else SignInAgain(request, here=here)
