"""What processes that serve or run turns keep in memory: when Python collects garbage, and no statements."""

from __future__ import annotations

import gc

from django.db.backends.base.base import BaseDatabaseWrapper


def collect_garbage_rarely() -> None:
    """Keep the garbage collector, which stops the process, from running in the middle of a push or of a turn.

    What was imported stays, so it is never looked at again. Only cycles wait for the collector; they are few.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def keep_no_statements() -> None:
    """Keep no statements for debugging on the connections that are made from now on.

    With DEBUG, Django keeps the last 9,000 of each connection with their values: hundreds of megabytes in a process that
    runs on.
    """
    BaseDatabaseWrapper.queries_limit = 0
