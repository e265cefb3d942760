"""What is due: looked for every second, so that a lost signal, ring or job costs a moment. Harmless in many processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from django.utils import timezone

from approvals import actions, dbpool
from approvals.models import ApprovalRequest
from approvals.states import Status

logger = logging.getLogger(__name__)

INTERVAL = 1.0
BATCH = 100

_duties: list[Callable[[], None]] = []


def register(duty: Callable[[], None]) -> None:
    """Add a duty: a function that looks for what is due, does it, and may be called at any time."""
    if duty not in _duties:
        _duties.append(duty)


def run_once() -> None:
    """Do everything that is due now; a duty that fails does not keep the others from theirs."""
    for duty in _duties:
        try:
            duty()
        except Exception:
            logger.exception("Sweep duty %s failed; it will be tried again", duty.__qualname__)


async def run_for_ever() -> None:
    while True:
        await dbpool.run(run_once)
        await asyncio.sleep(INTERVAL)


def expire_due_requests() -> None:
    """End requests whose deadline has passed."""
    due = ApprovalRequest.objects.filter(status=Status.PENDING, deadline_at__lte=timezone.now()).order_by("deadline_at")
    for request_id in list(due.values_list("pk", flat=True)[:BATCH]):
        actions.expire(request_id)
