"""The people who may decide a new request: the requester is warned at once if there are none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

from django.db.models import BooleanField
from django.utils.translation import gettext as _

from approvals.access.permissions import DecisionSubject
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import ApprovalRequest
from approvals.policy.terms import terms_of
from approvals.queries.policy.votes.ballots import enough_may_vote
from approvals.states import ASKS, Control

#: Someone who may decide a request, searched only among superusers or only among others.
_ANYONE: Prepared[tuple[int]] = Prepared(
    lambda: (
        DecisionSubject.parameters()
        .deciders()
        .filter(is_superuser=Parameter("is_superuser", BooleanField()))
        .order_by()
        .values_list("pk")[:1]
    )
)
#: Those of these people who may decide a request.
_AMONG: Prepared[tuple[int]] = Prepared(
    lambda: (
        DecisionSubject.parameters()
        .deciders(in_own_right=True)
        .filter(pk__in=any_of(Parameter("people", Values()), int))
        .order_by()
        .values_list("pk")
    )
)

#: How many usernames the assign form suggests; others can be typed.
MAX_SUGGESTIONS = 100
#: The usernames of people who may decide a request, as far as they are suggested.
_SUGGESTED: Prepared[str] = Prepared(
    lambda: (
        DecisionSubject.parameters()
        .deciders()
        .order_by("username")
        .values_list("username", flat=True)[:MAX_SUGGESTIONS]
    )
)


def warnings_of(request: ApprovalRequest) -> list[str]:
    """Return a warning if no one, or only superusers, may decide a waiting request, or if too few people may vote on it.

    Nothing is read if that is impossible.
    """
    if (
        request.pending
        and request.takes_votes
        and not enough_may_vote(request, terms_of(request.terms))
    ):
        return [
            _(
                "There are not enough people who may approve this request. Ask an administrator to check the policy."
            )
        ]
    is_limited = request.scoped_upto is not None or request.control == Control.FOUR_EYES
    if not request.pending or request.kind in ASKS or not is_limited:
        return []
    decided = asdict(DecisionSubject.of(request))
    if _ANYONE.first(**decided, is_superuser=False):
        return []
    only_superusers = _ANYONE.first(**decided, is_superuser=True)
    problem = (
        _("Only superusers may decide this request.")
        if only_superusers
        else _("No one may decide this request.")
    )
    advice = _(
        "Ask an administrator to check the approver scopes, and who decides for this tool."
    )
    return [f"{problem} {advice}"]


def deciders_among(request: ApprovalRequest, people: Collection[int]) -> set[int]:
    """Return which of these people, by id, may decide a request in their own right, not only as a delegate."""
    return {
        pk for (pk,) in _AMONG.all(**asdict(DecisionSubject.of(request)), people=people)
    }


def suggested_deciders(request: ApprovalRequest) -> list[str]:
    """Return the usernames of people who may decide a request, also only because others are away; of the first by name."""
    return _SUGGESTED.all(**asdict(DecisionSubject.of(request)))
