"""Limit memory and pauses of long-running processes: rare garbage collection, and no stored statements."""

from __future__ import annotations

import gc

from django.db.backends.base.base import BaseDatabaseWrapper


def collect_garbage_rarely() -> None:
    """Keep the garbage collector, which pauses the process, from running in the middle of a push or a turn.

    Imported modules are frozen, so they are never scanned again, and not now either: a last collection would take a twentieth of
    the start, and `manage.py` has collected most of the garbage. Only cycles wait for the collector; they are few.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def keep_no_statements() -> None:
    """Do not store statements for debugging on connections made from now on.

    With DEBUG, Django keeps the last 9,000 of each connection with their values: hundreds of megabytes in a long-running process.
    """
    BaseDatabaseWrapper.queries_limit = 0
