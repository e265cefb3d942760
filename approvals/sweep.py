"""What is due: looked for every second, so that a lost signal, ring or job costs a moment. Harmless in many processes."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from django.utils import timezone

from approvals import actions, dbpool
from approvals.holders import LAPSES
from approvals.models import ApprovalRequest
from approvals.states import Status

logger = logging.getLogger(__name__)

INTERVAL = 1.0
BATCH = 100

Duty = Callable[[], None]

_duties: list[Duty] = []
_errands: list[Duty] = []
#: Errands call what is not ours and may take its time: each on a thread of its own, they keep nothing else waiting.
_errand_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="pausepoint-errands")


def register(duty: Duty, *, errand: bool = False) -> None:
    """Add a duty: a function that looks for what is due, does it, and may be called at any time."""
    duties = _errands if errand else _duties
    if duty not in duties:
        duties.append(duty)


def run_once() -> None:
    """Do everything that is due now, errands too."""
    _run(_duties)
    _run(_errands)


async def run_for_ever() -> None:
    """Look every INTERVAL seconds, until cancelled."""
    await asyncio.gather(
        _repeat(functools.partial(dbpool.run, _run, _duties)),
        *(_repeat(functools.partial(_run_errand, errand)) for errand in _errands),
    )


async def _run_errand(errand: Duty) -> None:
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(_errand_threads, functools.partial(dbpool.unit, _run, [errand]))


async def _repeat(look: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await look()
        except Exception:
            # A round that fails, with its connection say, is one of many: there must be a next one.
            logger.warning("A round of the sweep failed; the next one looks again.", exc_info=True)
        await asyncio.sleep(INTERVAL)


def _run(duties: list[Duty]) -> None:
    """A duty that fails does not keep the others from theirs."""
    for duty in duties:
        try:
            duty()
        except dbpool.AWAY as error:
            logger.warning("The sweep finds the database away (%s); it looks again in a moment.", error)
            return
        except Exception:
            logger.exception("Sweep duty %s failed; it will be tried again", duty.__qualname__)


def expire_due_requests() -> None:
    """End requests whose deadline has passed, all of them: many may have the same."""
    left: set[UUID] = set()
    while found := _due(left):
        for request_id in found:
            try:
                if not actions.expire(request_id):
                    left.add(request_id)
            except Exception:
                # One that cannot be ended must not keep the others waiting.
                logger.exception("The deadline of request %s cannot be kept; it will be tried again", request_id)
                left.add(request_id)


def free_lapsed_requests() -> None:
    """Take people off requests that they took and have not touched for a while."""
    lapsed = ApprovalRequest.objects.filter(status=Status.PENDING, claimed_at__lte=timezone.now() - LAPSES)
    for request_id in lapsed.order_by("claimed_at").values_list("pk", flat=True)[:BATCH]:
        actions.free_lapsed(request_id)


def _due(left: set[UUID]) -> list[UUID]:
    due = ApprovalRequest.objects.filter(status=Status.PENDING, deadline_at__lte=timezone.now()).exclude(pk__in=left)
    return list(due.order_by("deadline_at").values_list("pk", flat=True)[:BATCH])
