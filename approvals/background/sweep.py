"""What is due: looked for every second, so that a lost signal, ring or job costs a moment. Harmless in many processes.

Each duty runs on a thread of its own, so that none waits for another. A row that somebody else has locked is passed by and
looked at again a second later: its holder may be a process that is frozen.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable
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
from approvals.models import ApprovalRequest
from approvals.runtime import database
from approvals.states import Status

logger = logging.getLogger(__name__)

INTERVAL = 1.0
BATCH = 100

#: Gives rows, of which there are some when there is something to do at a moment: a time, or the database's own `Now()`.
Due = Callable[[Any], Iterable[QuerySet[Any]]]


@dataclass(frozen=True, slots=True)
class Duty:
    """Looks for what is due, does it, and may be called at any time; it may take its time."""

    run: Callable[[], None]
    due: Due


_duties: list[Duty] = []
#: More than there are duties, each of which runs once at a time.
_threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="pausepoint-sweep")


class Walk:
    """Goes through rows, of which there may be more than one round can look at: each round goes on where the last one was."""

    def __init__(self) -> None:
        self._after = 0

    def next(self, rows: QuerySet[Any], limit: int = BATCH) -> list[Any]:
        """The next rows by their ids; from the first one again, once the last one was given."""
        found = list(rows.filter(pk__gt=self._after).order_by("pk")[:limit])
        self._after = found[-1].pk if len(found) == limit else 0
        return found


def register(run: Callable[[], None], due: Due) -> None:
    """Add a duty."""
    if run not in {duty.run for duty in _duties}:
        _duties.append(Duty(run, due))


def run_once() -> None:
    """Do everything that is due now."""
    for duty in _duties:
        _run(duty)


async def run_for_ever() -> None:
    """Look every INTERVAL seconds, until cancelled."""
    async with asyncio.TaskGroup() as running:
        busy: set[Duty] = set()
        while True:
            try:
                for duty in await asyncio.get_running_loop().run_in_executor(_threads, database.unit, found_due):
                    if duty not in busy:
                        busy.add(duty)
                        running.create_task(_run_apart(duty, busy))
            except database.AWAY as error:
                database.met(error)
            except Exception:
                # A round that fails is one of many: there must be a next one.
                logger.warning("A round of the sweep failed; the next one looks again.", exc_info=True)
            await asyncio.sleep(INTERVAL)


def found_due() -> list[Duty]:
    """The duties that have something to do, found in one query: a process that is idle is to cost next to nothing."""
    with connection.cursor() as cursor:
        cursor.execute(*_question(tuple(_duties)))
        row = cursor.fetchone()
    return [duty for duty, is_due in zip(_duties, row, strict=True) if is_due]


@functools.cache
def _question(duties: tuple[Duty, ...]) -> tuple[str, list[Any]]:
    """The query and its parameters. It reads the database's clock, so that it is the same every second: to make it takes longer
    than to answer it.
    """
    asked, params = [], []
    for duty in duties:
        there = [_exists(rows) for rows in duty.due(Now())]
        asked.append(" OR ".join(sql for sql, _ in there))
        params += [param for _, values in there for param in values]
    return f"SELECT {', '.join(asked)}", params


def _exists(rows: QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    try:
        sql, params = rows.order_by().values("pk")[:1].query.sql_with_params()
    except EmptyResultSet:
        return "1 = 0", ()
    return f"EXISTS ({sql})", params


async def _run_apart(duty: Duty, busy: set[Duty]) -> None:
    try:
        await asyncio.get_running_loop().run_in_executor(_threads, database.unit, _run, duty)
    except Exception:
        # Its connection could not be closed, say. Raised here, it would end the sweep of this process for good.
        logger.warning("A duty of the sweep failed; it will be tried again", exc_info=True)
    finally:
        busy.discard(duty)


def _run(duty: Duty) -> None:
    """A duty that fails does not keep the others from theirs."""
    try:
        duty.run()
    except database.AWAY as error:
        database.outage.met(error)
    except Exception:
        logger.exception("Sweep duty %s failed; it will be tried again", duty.run.__qualname__)


def expire_due_requests() -> None:
    """End requests whose deadline has passed, all of them: many may have the same."""
    left: set[UUID] = set()
    while found := _due(left):
        for request_id in found:
            try:
                if not actions.expire(request_id, wait=False):
                    left.add(request_id)
            except database.AWAY:
                raise
            except Exception:
                # One that cannot be ended must not keep the others waiting.
                logger.exception("The deadline of request %s cannot be kept; it will be tried again", request_id)
                left.add(request_id)


def free_lapsed_requests() -> None:
    """Take people off requests that they took and have not touched for a while."""
    for request_id in lapsed(Now()).order_by("claimed_at").values_list("pk", flat=True)[:BATCH]:
        actions.free_lapsed(request_id)


def overdue(now: Any) -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(status=Status.PENDING, deadline_at__lte=now)


def lapsed(now: Any) -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(status=Status.PENDING, claimed_at__lte=now - LAPSES)


def _due(left: set[UUID]) -> list[UUID]:
    due = overdue(Now()).exclude(pk__in=left)
    return list(due.order_by("deadline_at").values_list("pk", flat=True)[:BATCH])
