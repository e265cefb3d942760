"""The progress of a new key up to its first request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from approvals.access import permissions
from approvals.access.callers import KEY_SCOPE
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, Workflow
from approvals.models.keys import ApiKey

#: After this time, the page lists things to check.
PATIENCE = timedelta(minutes=1)


class FirstRequestProgress(StrEnum):
    """The progress of a key up to its first request."""

    WAITING = "waiting"
    #: The key was not used within PATIENCE.
    UNUSED = "unused"
    #: The key was used, but made no request within PATIENCE.
    USED = "used"
    #: The key is revoked or expired.
    ENDED = "ended"
    ARRIVED = "arrived"


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """The progress of a key, and its first request if `viewer` may see it."""

    progress: FirstRequestProgress
    request: ApprovalRequest | None = None


def first_request(
    key: ApiKey, viewer: Standing, *, waited: timedelta, now: datetime
) -> FirstRequest:
    """Return a key's progress, for a page that has been waiting for `waited`."""
    # The index of workflows begins with the scope; that of requests does not.
    workflow = (
        Workflow.objects.filter(scope=f"{KEY_SCOPE}{key.pk}").order_by("pk").first()
    )
    request = (
        ApprovalRequest.objects.filter(workflow=workflow).order_by("created_at").first()
        if workflow
        else None
    )
    if request is not None:
        return FirstRequest(
            FirstRequestProgress.ARRIVED,
            request if permissions.may_see(viewer, request) else None,
        )
    if key.revoked_at is not None or (
        key.expires_at is not None and key.expires_at <= now
    ):
        return FirstRequest(FirstRequestProgress.ENDED)
    if waited < PATIENCE:
        return FirstRequest(FirstRequestProgress.WAITING)
    return FirstRequest(
        FirstRequestProgress.UNUSED
        if key.last_used_at is None
        else FirstRequestProgress.USED
    )
