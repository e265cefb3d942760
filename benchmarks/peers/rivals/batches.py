"""How a rival talks to the benchmark: one line in for each batch, `CLIENTS CYCLES`; one line out, the seconds that it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def answer_batches(*clients: Callable[[], object]) -> None:
    """Say that all is ready, and run batches until there are no more lines. Each client runs on a thread of its own."""
    print("ready", flush=True)
    with ThreadPoolExecutor(len(clients)) as pool:
        for line in sys.stdin:
            at_once, cycles = map(int, line.split())
            began = time.monotonic()
            list(pool.map(lambda client: [client() for _ in range(cycles)], clients[:at_once]))  # noqa: B023
            print(time.monotonic() - began, flush=True)
