"""Notify administrators, once, of requests that only superusers may decide: when they are made, and after later changes.

A change of scopes or people requests a check of pending requests, which the sweep does. Requests that become decidable again are
forgotten, so that administrators are notified again if a later change affects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Q, QuerySet
from django.utils import timezone

from approvals.access import permissions
from approvals.actions.locking import lock_request
from approvals.actions.policy.scope_index import uncompared
from approvals.actions.publishing import publish_event
from approvals.models import ApprovalRequest, ScopeWalk, Workflow
from approvals.outbound.mentions import notify_of_undecidable
from approvals.queries.policy.deciders import warnings_of
from approvals.states import Door, Status

#: Requests checked between two stores of the progress.
BATCH = 50


def tell_if_undecidable(request: ApprovalRequest, workflow: Workflow) -> list[str]:
    """Notify administrators of a request that no one may decide, unless they were notified; return the warnings about it.

    The caller holds the lock of its workflow.
    """
    warnings = warnings_of(request)
    if warnings and request.undecidable_since is None:
        request.undecidable_since = timezone.now()
        ApprovalRequest.objects.filter(pk=request.pk).update(
            undecidable_since=request.undecidable_since
        )
        record = {"why": warnings[0]}
        publish_event(
            "request.undecidable",
            request,
            workflow,
            record=record,
            actor=None,
            via=Door.SYSTEM,
        )
        notify_of_undecidable(
            request, list(permissions.administrators().order_by("pk"))
        )
    return warnings


def ask_for_check() -> None:
    """Request a check of all pending requests after a change of scopes or people; without scopes, there is nothing to check."""
    ScopeWalk.objects.update(
        checks=F("checks") + 1, checked_created_at=None, checked_id=None
    )


def due_checks() -> QuerySet[ScopeWalk]:
    """Return the row of a requested check, once all pending requests were compared with the scopes."""
    return ScopeWalk.objects.filter(~Exists(uncompared()), checks__gt=F("checks_done"))


def check_waiting_requests() -> None:
    """Check pending requests, oldest first; an interrupted check is continued, and a new one starts over."""
    while (walk := due_checks().first()) is not None:
        batch = _after(walk.checked_created_at, walk.checked_id)
        for request in batch:
            if bool(warnings_of(request)) != (request.undecidable_since is not None):
                _settle(request.pk)
        _mark(walk, batch)


def _after(
    created_at: datetime | None, request_id: UUID | None
) -> list[ApprovalRequest]:
    waiting = ApprovalRequest.objects.filter(status=Status.PENDING).select_related(
        "workflow"
    )
    if created_at is not None:
        later = Q(created_at__gt=created_at) | Q(pk__gt=request_id)
        waiting = waiting.filter(later, created_at__gte=created_at)
    return list(
        waiting.order_by("created_at", "id").defer("said_before", "context", "message")[
            :BATCH
        ]
    )


def _settle(request_id: UUID) -> None:
    """Notify administrators of a request, or forget that they were notified, as judged under its lock."""
    with transaction.atomic():
        locked = lock_request(request_id)
        if locked is None or not locked.request.pending:
            return
        warnings = tell_if_undecidable(locked.request, locked.workflow)
        if not warnings:
            ApprovalRequest.objects.filter(pk=request_id).update(undecidable_since=None)


def _mark(walk: ScopeWalk, batch: Sequence[ApprovalRequest]) -> None:
    """Store the progress of the check, unless another change has requested a new one meanwhile."""
    same = ScopeWalk.objects.filter(pk=walk.pk, checks=walk.checks)
    if len(batch) < BATCH:
        same.update(checks_done=walk.checks, checked_created_at=None, checked_id=None)
    else:
        same.update(checked_created_at=batch[-1].created_at, checked_id=batch[-1].pk)
