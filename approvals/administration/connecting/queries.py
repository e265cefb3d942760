"""Whether a key has asked for the first time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from approvals.access import permissions
from approvals.access.keys import KEY_SCOPE
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, Workflow
from approvals.models.keys import ApiKey

#: After this, the page says what to check.
PATIENCE = timedelta(minutes=1)


class Progress(StrEnum):
    """How far the first request of a key is."""

    WAITING = "waiting"
    #: No program has used the key within PATIENCE.
    UNUSED = "unused"
    #: A program has used the key, and asked for nothing within PATIENCE.
    USED = "used"
    #: The key is revoked or expired.
    ENDED = "ended"
    ARRIVED = "arrived"


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """The progress of a key, and its first request if `viewer` may see it."""

    progress: Progress
    request: ApprovalRequest | None = None


def first_request(key: ApiKey, viewer: Standing, *, waited: timedelta, now: datetime) -> FirstRequest:
    """Return how far the first request of a key is, for a page that has waited so long."""
    # Its workflows have an index that begins with the scope; its requests have none.
    workflow = Workflow.objects.filter(scope=f"{KEY_SCOPE}{key.pk}").order_by("pk").first()
    request = ApprovalRequest.objects.filter(workflow=workflow).order_by("created_at").first() if workflow else None
    if request is not None:
        return FirstRequest(Progress.ARRIVED, request if permissions.may_see(viewer, request) else None)
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        return FirstRequest(Progress.ENDED)
    if waited < PATIENCE:
        return FirstRequest(Progress.WAITING)
    return FirstRequest(Progress.UNUSED if key.last_used_at is None else Progress.USED)
