"""Conditions of the requests visible to people with a limited view: their own, and those that their scopes match."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from approvals.access.permissions import in_scope
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.db.literal import literal
from approvals.models import ApprovalRequest
from approvals.queries.policy.scopes.first_rows import IN_SCOPE, first_of, reader
from approvals.states import ASKS, Status

#: Number of requests in scope that make up a page of ended workflows.
IN_LISTS = 200


def seen_by(viewer: Standing) -> Q:
    """Return the condition of requests visible to a person with a limited view: their own, and those that their scopes match."""
    own = Q(requested_by=viewer.pk) | Q(assigned_to=viewer.pk)
    return own | in_scope(viewer) if viewer.scope_sets else own


def steps_for(viewer: Standing) -> Q:
    """Return the condition of requests that someone may see in the workflow of another person."""
    assigned = Q(assigned_to=viewer.pk)
    return assigned | in_scope(viewer) if viewer.scope_sets else assigned


def has_steps_for(viewer: Standing, listed: Q | None = None, *order: str) -> Q:
    """Return the condition of other people's workflows with a request that the viewer may see.

    In a list, only in-scope requests that match `listed` count: the database then searches their workflows instead of all. With
    an order, only the first ones count, because there are too many ended ones.
    """
    assigned = Q(
        pk__in=ApprovalRequest.objects.filter(assigned_to=viewer.pk).values("workflow")
    )
    if not viewer.scope_sets:
        return assigned
    requests = ApprovalRequest.objects.order_by()
    if listed is None:
        return assigned | Q(
            Exists(requests.filter(in_scope(viewer), workflow=OuterRef("pk")))
        )
    if order:
        first = first_of(
            requests.filter(listed),
            reader(viewer),
            order,
            IN_LISTS,
            waiting=False,
            reasons=[IN_SCOPE],
        )
        return assigned | Q(pk__in=requests.filter(first).values("workflow"))
    return assigned | Q(
        pk__in=requests.filter(listed, in_scope(viewer)).values("workflow")
    )


def waiting_count(viewer: Standing, limit: int) -> int:
    """Return how many requests wait for someone who does not decide all of them, up to a limit.

    These are their own and assigned questions, and requests in their scopes if they may decide.
    """
    theirs = Q(assigned_to=viewer.pk) | Q(requested_by=viewer.pk)
    wanted = Q(theirs, kind__in=ASKS)
    if viewer.scope_sets and DECIDE in viewer.rights:
        wanted |= in_scope(viewer)
    waiting = ApprovalRequest.objects.filter(wanted, status=literal(Status.PENDING))
    return waiting[:limit].count()
