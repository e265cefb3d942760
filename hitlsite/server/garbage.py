"""When Python collects garbage in processes that serve or run turns."""

from __future__ import annotations

import gc


def collect_garbage_rarely() -> None:
    """Keep the garbage collector, which stops the process, from running in the middle of a push or of a turn.

    What was imported stays, so it is never looked at again. Only cycles wait for the collector; they are few.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
