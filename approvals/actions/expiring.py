"""End requests whose deadline has passed; the default response of a question is then its answer."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from approvals.actions.ending import end_request
from approvals.actions.locking import Locked, lock_request
from approvals.asking.answers import ABSENT, Answer
from approvals.states import Door, Verdict


def expire(request_id: UUID) -> bool:
    """End a request whose deadline has passed; False if it has not, or if the request has ended before."""
    with transaction.atomic():
        locked = lock_request(request_id)
        return locked is not None and expire_if_overdue(locked)


def expire_free(request_ids: Iterable[UUID]) -> set[UUID]:
    """End those of these requests whose deadline has passed, in one commit; return which.

    A request that another transaction has locked is left to it.
    """
    with transaction.atomic():
        free = (lock_request(request_id, wait=False) for request_id in request_ids)
        return {locked.request.pk for locked in free if locked is not None and expire_if_overdue(locked)}


def expire_if_overdue(locked: Locked) -> bool:
    """End a locked request if its deadline has passed, with its default response as the answer; whether it did."""
    request = locked.request
    if locked.overdue:
        default = request.default_response if request.has_default else ABSENT
        end_request(locked, Answer(Verdict.EXPIRE, answer=default), by=None, via=Door.DEADLINE)
        return True
    return False
