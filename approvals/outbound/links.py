"""Signed links in mails. Each opens a page on which one person confirms one verdict; opening it decides nothing."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse

from approvals.models import ApprovalRequest
from approvals.states import Verdict

SALT = "approvals.links"
#: Verdicts that a link may offer.
OFFERED = (Verdict.APPROVE, Verdict.REJECT)


def confirm_link(request: ApprovalRequest, person: User, verdict: Verdict) -> str:
    """Return the address of the page on which this person confirms this verdict."""
    token = _signer(request, person).sign(verdict)
    return settings.PUBLIC_URL + reverse("approvals:confirm", args=[request.pk, token])


def verdict_of_link(
    token: str, request: ApprovalRequest, person: User
) -> Verdict | None:
    """Return the verdict that a link offers; None unless the link was made by us for this person and request."""
    try:
        return Verdict(_signer(request, person).unsign(token))
    except signing.BadSignature:
        return None


def _signer(request: ApprovalRequest, person: User) -> signing.Signer:
    return signing.Signer(salt=f"{SALT}.{request.pk}.{person.pk}")
