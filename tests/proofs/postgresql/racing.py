"""Threads with connections of their own, started at one moment; and a wait for locks in PostgreSQL's view."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

#: Seconds; nothing waits longer than it has to.
PATIENCE = 120.0
#: Any unused number.
GATE = 4_711


class Act(threading.Thread):
    """One of several acts at the same moment, on its own thread; `result` is its return value or its error."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.work, self.result, self.process = work, None, 0
        self.known = threading.Event()

    def run(self) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                (self.process,) = cursor.fetchone()
            self.known.set()
            self.result = self.work()
        except Exception as error:
            self.result = error
        finally:
            connection.close()

    def begun(self) -> Act:
        self.start()
        assert self.known.wait(PATIENCE)
        return self

    def ended(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "it waits for something that does not come"
        return self.result

    def until_it_waits(self) -> None:
        """Return once the database says that it waits for a lock."""
        query = f"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = {self.process}"
        until(lambda: value(query), "it waits for a lock")


def race(*works: Callable[[], Any]) -> list[Any]:
    """Return the results or errors of works that begin at one moment, connected."""
    start = threading.Barrier(len(works))

    def one(work: Callable[[], Any]) -> Any:
        start.wait(PATIENCE)
        return work()

    acts = [Act(lambda work=work: one(work)) for work in works]  # type: ignore[misc]
    for act in acts:
        act.start()
    return [act.ended() for act in acts]


def failures(found: list[Any], *expected: type[Exception]) -> list[str]:
    """Return the errors that are none of the expected refusals, as text: a deadlock, a lost row."""
    return [
        f"{type(one).__name__}: {one}" for one in found if isinstance(one, Exception) and not isinstance(one, expected)
    ]


def value(query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query)
        (found,) = cursor.fetchone()
    return found


def until(probe: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not probe():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.01)


@contextmanager
def gate_before_the_record(words: str) -> Iterator[Callable[[], None]]:
    """Let any transaction that records an entry with these words in its comment or body wait, its number drawn, for the gate.

    Yield a function that opens the gate; it is open after the block at the latest.
    """
    function = f"""CREATE FUNCTION waiting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.body LIKE '%{words}%' THEN PERFORM pg_advisory_xact_lock_shared({GATE}); END IF; RETURN NEW; END $$"""
    trigger = "CREATE TRIGGER waiting AFTER INSERT ON approvals_auditentry FOR EACH ROW EXECUTE FUNCTION waiting()"
    closed = threading.Event()
    opened = threading.Event()

    def keep_shut() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_advisory_xact_lock({GATE})")
            closed.set()
            assert opened.wait(PATIENCE)

    with connection.cursor() as cursor:
        cursor.execute(function)
        cursor.execute(trigger)
    keeper = Act(keep_shut).begun()
    assert closed.wait(PATIENCE)

    def let_through() -> None:
        opened.set()
        keeper.ended()

    try:
        yield let_through
    finally:
        let_through()
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER waiting ON approvals_auditentry")
            cursor.execute("DROP FUNCTION waiting()")
