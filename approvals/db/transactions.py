"""Transaction tools: join an open transaction, queue for a lock, lock a name, commit without waiting for the disk, and run
callbacks after the commit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, update_wrapper
from time import monotonic
from typing import ParamSpec

from django.db import OperationalError, connection, connections, transaction

Arguments = ParamSpec("Arguments")

#: Maximum number of a process's threads that wait for the same row, so that a row that stays locked does not block them all.
PLACES = 4
#: Seconds without progress in a queue after which more threads are refused. Longer than a transaction takes on an overloaded
#: machine.
STUCK = 2.0


class LineTooLong(OperationalError):
    """The row stays locked, and enough threads of this process wait for it. The transaction has to be rolled back."""


@dataclass
class _Line:
    moved_at: float
    places: int = 0


_lines: dict[Hashable, _Line] = {}
_moved = threading.Condition()


@contextmanager
def in_line(row: Hashable) -> Iterator[None]:
    """Run the statement that waits for a row lock. Raise LineTooLong if the queue is full and stuck.

    As long as locks are released, everyone gets through: a queue is stuck only if no thread has taken the lock for STUCK seconds.
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


def record_progress(row: Hashable) -> None:
    """Record that a thread has taken the lock of a row without queueing for it, so that its queue is not taken for stuck."""
    line = _lines.get(row)
    if line is not None:
        with _moved:
            line.moved_at = monotonic()


@contextmanager
def in_transaction() -> Iterator[None]:
    """Join the open transaction, or else open one.

    For actions that are also parts of others. There is no savepoint, so the outermost caller has to roll back after any error
    except a refusal, which an action raises before it writes anything.
    """
    if connection.in_atomic_block:
        yield
    else:
        with transaction.atomic():
            yield


def lock_name(name: str, *, shared: bool = False) -> None:
    """Hold the lock on `name` until this transaction ends, waiting for any other holder. Call it first in a transaction.

    Those that are `shared` wait only for one that is not; no later one overtakes a lock that others wait for.

    It enforces rules that no unique constraint can express and that have no row to lock yet. SQLite has only one writing
    transaction at a time anyway. PostgreSQL locks a hash of the name: a collision only makes unrelated transactions wait for each
    other.
    """
    assert connection.in_atomic_block
    if connection.vendor == "postgresql":
        lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        with in_line(name), connection.cursor() as cursor:
            cursor.execute(f"SELECT {lock}(hashtextextended(%s, 0))", [name])


def async_commit() -> None:
    """Let the open transaction commit without waiting for the disk flush.

    Only for writes that are repeated or detected again if lost: never for decisions, messages, tool results, claims or locks.
    Other transactions see it as usual, and any later synchronous commit flushes it too. After a power failure, the whole
    transaction may be lost if it was committed within the last 0.2 s (`wal_writer_delay`). Only PostgreSQL supports this per
    transaction.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")


def after_commit(
    work: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> None:
    """Call a function after the open transaction has committed. If it fails, log the error: the commit stays successful."""
    # Django logs the name of a failed hook.
    hook = update_wrapper(partial(work, *args, **kwargs), work)
    transaction.on_commit(hook, robust=True)


def release_connections() -> bool:
    """Return this thread's connections to PostgreSQL's small pool before a wait; in a transaction, only return False."""
    opened = connections.all(initialized_only=True)
    if any(each.in_atomic_block for each in opened):
        return False
    for each in opened:
        each.close()
    return True
