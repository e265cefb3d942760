"""Who may decide a request that was just asked: whether anyone does is said at once to who asks for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

from django.db.models import BooleanField
from django.utils.translation import gettext as _

from approvals.access.permissions import Decided
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.models import ApprovalRequest
from approvals.policy.terms import terms_of
from approvals.queries.policy.ballots import enough_may_vote, takes_votes
from approvals.states import ASKS, Control

#: Someone who may decide a request: only among superusers, or only among others.
_ANYONE: Prepared[tuple[int]] = Prepared(
    lambda: (
        Decided.parameters()
        .deciders()
        .filter(is_superuser=Parameter("is_superuser", BooleanField()))
        .order_by()
        .values_list("pk")[:1]
    )
)
_AMONG: Prepared[tuple[int]] = Prepared(
    lambda: (
        Decided.parameters()
        .deciders(in_own_right=True)
        .filter(pk__in=any_of(Parameter("people", Values()), int))
        .order_by()
        .values_list("pk")
    )
)


def warnings_of(request: ApprovalRequest) -> list[str]:
    """Return a sentence if no one, or no one but superusers, may decide a waiting request, or too few people may vote on it.

    Read only if that is possible.
    """
    if request.pending and takes_votes(request) and not enough_may_vote(request, terms_of(request.terms)):
        return [
            _("There are not enough people who may approve this request. Ask an administrator to check the policy.")
        ]
    is_limited = request.scoped_upto is not None or request.control == Control.FOUR_EYES
    if not request.pending or request.kind in ASKS or not is_limited:
        return []
    decided = asdict(Decided.of(request))
    if _ANYONE.first(**decided, is_superuser=False):
        return []
    only_superusers = _ANYONE.first(**decided, is_superuser=True)
    problem = _("Only superusers may decide this request.") if only_superusers else _("No one may decide this request.")
    advice = _("Ask an administrator to check the approver scopes, and who decides for this tool.")
    return [f"{problem} {advice}"]


def deciders_among(request: ApprovalRequest, people: Collection[int]) -> set[int]:
    """Return which of the people with these ids may decide a request in their own right, not only because others are away."""
    return {pk for (pk,) in _AMONG.all(**asdict(Decided.of(request)), people=people)}
