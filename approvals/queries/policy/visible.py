"""Conditions of the requests that someone sees who does not see all: their own, and those that their scopes fit."""

from __future__ import annotations

from django.db.models import Q

from approvals.access.permissions import Person
from approvals.access.rights import DECIDE
from approvals.access.scopes import audiences_of
from approvals.db.many import any_of
from approvals.models import ApprovalRequest
from approvals.states import ASKS, Status


def seen_by(user: Person) -> Q:
    """Return the condition of requests that someone sees who does not see all: their own, and those that their scopes fit."""
    own, audiences = Q(requested_by=user.pk) | Q(assigned_to=user.pk), audiences_of(user)
    return own | Q(audience__in=any_of(audiences, int)) if audiences else own


def steps_for(user: Person, *, waiting: bool = False) -> Q:
    """Return the condition of requests that someone may see in the workflow of another person; in scope only if `waiting`."""
    assigned, audiences = Q(assigned_to=user.pk), audiences_of(user)
    in_scope = Q(audience__in=any_of(audiences, int), **({"status": Status.PENDING} if waiting else {}))
    return assigned | in_scope if audiences else assigned


def waiting_count(user: Person, limit: int) -> int:
    """Return how many requests wait for someone who does not decide all of them, up to a limit.

    These are questions of their own and those assigned to them, and what their scopes fit if they may decide.
    """
    theirs = Q(assigned_to=user.pk) | Q(requested_by=user.pk)
    wanted = Q(theirs, kind__in=ASKS)
    if (audiences := audiences_of(user)) and user.has_perm(DECIDE):
        wanted |= Q(audience__in=any_of(audiences, int))
    waiting = ApprovalRequest.objects.filter(wanted, status=Status.PENDING)
    return waiting[:limit].count()
