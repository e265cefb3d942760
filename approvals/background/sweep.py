"""The sweep: look for due work every second, so that a lost signal, notification or job causes only a short delay.

Any number of processes may run it. Each duty has its own thread, so that none waits for another. Locked rows are skipped
until the next round: the process that holds the lock may be frozen.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from approvals import actions
from approvals.access.assignees import LAPSES
from approvals.db import pool
from approvals.db.due import for_each_due
from approvals.models import ApprovalRequest
from approvals.states import Status

logger = logging.getLogger(__name__)

INTERVAL = 1.0
BATCH = 100
#: Requests that expire in one transaction, which blocks all other writers on SQLite.
EXPIRED_AT_ONCE = 20

#: Returns querysets that have rows if something is due at the given moment: a datetime, or the database's `Now()`.
Due = Callable[[Any], Iterable[QuerySet[Any]]]


@dataclass(frozen=True, slots=True)
class Duty:
    """A task of the sweep. `run` does the due work, may be called at any time, and may take long."""

    run: Callable[[], None]
    due: Due


_duties: list[Duty] = []
#: More threads than duties; each duty runs at most once at a time.
_threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="pausepoint-sweep")


class Walk:
    """Iterate over rows in batches: each round continues where the previous one stopped."""

    def __init__(self) -> None:
        self._after = 0

    def next(self, rows: QuerySet[Any], limit: int = BATCH) -> list[Any]:
        """Return the next rows by id; after the last row, start over."""
        batch = list(rows.filter(pk__gt=self._after).order_by("pk")[:limit])
        self._after = batch[-1].pk if len(batch) == limit else 0
        return batch


def register(run: Callable[[], None], due: Due) -> None:
    """Add a duty."""
    if run not in {duty.run for duty in _duties}:
        _duties.append(Duty(run, due))


def run_once() -> None:
    """Run every duty once."""
    for duty in _duties:
        _run(duty)


async def run_for_ever() -> None:
    """Run due duties every INTERVAL seconds until cancelled."""
    async with asyncio.TaskGroup() as running:
        busy: set[Duty] = set()
        while True:
            try:
                for duty in await asyncio.get_running_loop().run_in_executor(
                    _threads, pool.call_and_close, find_due
                ):
                    if duty not in busy:
                        busy.add(duty)
                        running.create_task(_run_on_thread(duty, busy))
            except pool.AWAY as error:
                pool.record_failure(error)
            except Exception:
                # A failed round must not end the loop.
                logger.warning(
                    "A round of the sweep failed; the next one looks again.",
                    exc_info=True,
                )
            await asyncio.sleep(INTERVAL)


def find_due() -> list[Duty]:
    """Return the duties with due work, in one query, so that an idle process costs almost nothing."""
    with connection.cursor() as cursor:
        cursor.execute(*_due_query(tuple(_duties)))
        row = cursor.fetchone()
    return [duty for duty, is_due in zip(_duties, row, strict=True) if is_due]


@functools.cache
def _due_query(duties: tuple[Duty, ...]) -> tuple[str, list[Any]]:
    """Return the query and its parameters.

    It uses the database's clock, so it is constant and can be cached: building it takes longer than running it.
    """
    columns = []
    params = []
    for duty in duties:
        conditions = [_exists(rows) for rows in duty.due(Now())]
        columns.append(" OR ".join(sql for sql, _ in conditions))
        params += [param for _, values in conditions for param in values]
    return f"SELECT {', '.join(columns)}", params


def _exists(rows: QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    try:
        sql, params = rows.order_by().values("pk")[:1].query.sql_with_params()
    except EmptyResultSet:
        return "1 = 0", ()
    return f"EXISTS ({sql})", params


async def _run_on_thread(duty: Duty, busy: set[Duty]) -> None:
    try:
        await asyncio.get_running_loop().run_in_executor(
            _threads, pool.call_and_close, _run, duty
        )
    except Exception:
        # For example, its connection could not be closed. If raised here, it would end the sweep of this process.
        logger.warning(
            "A duty of the sweep failed; it will be tried again", exc_info=True
        )
    finally:
        busy.discard(duty)


def _run(duty: Duty) -> None:
    """Run a duty and log its errors, so that the other duties continue."""
    try:
        duty.run()
    except pool.AWAY as error:
        pool.outage.record_failure(error)
    except Exception:
        logger.exception(
            "Sweep duty %s failed; it will be tried again", duty.run.__qualname__
        )


def expire_due_requests() -> None:
    """Expire all requests whose deadline has passed."""
    left: set[UUID] = set()
    while due := _due(left):
        left |= _expire(due)


def _expire(request_ids: Sequence[UUID]) -> set[UUID]:
    """Expire these requests in one commit, which flushes to disk once; return those that did not expire."""
    try:
        return set(request_ids) - actions.expire_free(request_ids)
    except pool.AWAY:
        raise
    except Exception:
        if len(request_ids) > 1:
            # One failing request must not block the others.
            return set[UUID]().union(
                *(_expire([request_id]) for request_id in request_ids)
            )
        logger.exception(
            "Request %s could not be expired; it will be tried again", request_ids[0]
        )
        return set(request_ids)


def free_lapsed_requests() -> None:
    """Unassign requests whose assignees took them but have not been active for a while."""
    for_each_due(lapsed(Now()).order_by("claimed_at"), actions.free_lapsed)


def free_lost_resumes() -> None:
    """Free resumes whose program's lease has expired."""
    for_each_due(
        actions.lost_leases(Now()).order_by("leased_until"), actions.free_lost_resume
    )


def erase_due_attachments() -> None:
    """Delete attachments that no request uses, and those that retention has begun to delete."""
    actions.erase_attachments(actions.due_attachments(Now()))


def overdue(now: Any) -> QuerySet[ApprovalRequest]:
    """Return pending requests whose deadline has passed."""
    return ApprovalRequest.objects.filter(status=Status.PENDING, deadline_at__lte=now)


def lapsed(now: Any) -> QuerySet[ApprovalRequest]:
    """Return pending requests whose assignment has lapsed."""
    return ApprovalRequest.objects.filter(
        status=Status.PENDING, claimed_at__lte=now - LAPSES
    )


def _due(left: set[UUID]) -> list[UUID]:
    due = overdue(Now()).exclude(pk__in=left)
    return list(
        due.order_by("deadline_at").values_list("pk", flat=True)[:EXPIRED_AT_ONCE]
    )
