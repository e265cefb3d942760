"""How a rival talks to the benchmark: one line in for each batch, `CLIENTS CYCLES`; one line out, the seconds that it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial


def answer_batches(*clients: Callable[[], object]) -> None:
    """Say that all is ready, and run batches until there are no more lines. Each client runs on a thread of its own."""
    print("ready", flush=True)
    with ThreadPoolExecutor(len(clients)) as pool:
        for line in sys.stdin:
            at_once, cycles = map(int, line.split())
            began = time.monotonic()
            list(pool.map(partial(_repeat, times=cycles), clients[:at_once]))
            print(time.monotonic() - began, flush=True)


def _repeat(client: Callable[[], object], *, times: int) -> None:
    for _ in range(times):
        client()
