"""What a transaction may do beside its statements: go on in another one, wait in line for a lock, hold a lock by name, commit
without waiting for the disk, and have something done afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import ParamSpec

from django.db import OperationalError, connection, transaction

Arguments = ParamSpec("Arguments")

#: Threads of a process that wait in the database for the same row, so that a row that stays locked does not occupy all.
PLACES = 4
#: Seconds without any progress in a line after which further threads are refused. Longer than a transaction takes on a machine
#: that is overloaded.
STUCK = 2.0


class LineTooLong(OperationalError):
    """The row stays locked, and enough threads of this process wait for it. The transaction has to be given up."""


@dataclass
class _Line:
    moved_at: float
    places: int = 0


_lines: dict[Hashable, _Line] = {}
_moved = threading.Condition()


@contextmanager
def in_line(row: Hashable) -> Iterator[None]:
    """Run the statement that waits for the lock on a row. LineTooLong if others wait already and no one gets it.

    While locks are released, everyone gets through: a line is stuck only if no one has left it for STUCK seconds.
    """
    with _moved:
        line = _lines.setdefault(row, _Line(monotonic()))
        while line.places >= PLACES:
            patience = line.moved_at + STUCK - monotonic()
            if patience <= 0:
                raise LineTooLong("the row is locked, and others wait for it")
            _moved.wait(patience)
            line = _lines.setdefault(row, line)
        line.places += 1
    try:
        yield
    finally:
        with _moved:
            line.places -= 1
            line.moved_at = monotonic()
            if not line.places:
                _lines.pop(row, None)
            _moved.notify_all()


@contextmanager
def in_transaction() -> Iterator[None]:
    """Go on in the open transaction, or else open one.

    For actions that are also parts of others. There is no savepoint, so whoever opened the transaction has to give it up
    after any error but a refusal, which comes before an action has written anything.
    """
    if connection.in_atomic_block:
        yield
    else:
        with transaction.atomic():
            yield


def lock_name(name: str) -> None:
    """Hold the lock on `name` until this transaction ends, waiting for any other holder. Call it first in a transaction.

    It is for rules that no unique constraint can express and for which no row exists yet. On SQLite there is only one writing
    transaction at a time anyway. PostgreSQL locks a hash of the name: a collision only makes one transaction wait for an
    unrelated one.
    """
    assert connection.in_atomic_block
    if connection.vendor == "postgresql":
        with in_line(name), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def async_commit() -> None:
    """Let the open transaction commit without waiting for the disk flush.

    Only for writes that are repeated or found out again when they are lost: never for decisions, messages, tool results,
    claims or locks. Other transactions see it as usual, and any later commit that does wait flushes it too. If the power
    fails, the whole transaction may be lost when it was committed within the last 0.2 s (`wal_writer_delay`). Only PostgreSQL
    supports this per transaction.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")


def after_commit(work: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
    """Call `work` once the open transaction has committed; if that fails, log it: what is stored stays a success.

    Django reads the name of what has failed, so it must be a function: a `functools.partial` has none, and raises instead.
    """

    def hook() -> None:
        work(*args, **kwargs)

    hook.__qualname__ = work.__qualname__
    transaction.on_commit(hook, robust=True)
