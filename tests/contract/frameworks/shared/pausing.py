"""Shared by the programs that observe what a framework does at a pause, without Pausepoint: `at_a_pause.py THREAD`.

Each plays a message with a gated `refund`, a gated `drop` and a free `look`, and tells what it has seen in the codes of
`tests/contract/frameworks/pauses.py`.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import threading
from collections.abc import Callable
from typing import Any

import program

WANTED = [("refund", program.REFUND), ("drop", program.DROP), ("look", {"order": "4711"})]
CHANGED = {"order": "4711", "amount": 99}


#: In which two resumers meet within the tool, if both run it.
MEETING: list[threading.Barrier] = []


def refund(order: str, amount: int) -> str:
    """Refund an order."""
    for barrier in MEETING:
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(2)
    return program.refund(order, amount)


class Condition:
    """A condition by which calls ask, which counts how often it is evaluated."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> bool:
        self.times += 1
        return True


def ran() -> list[Any]:
    """Return the effects since the last time, in their order."""
    effects = list(program.RAN)
    program.RAN.clear()
    return effects


def sibling() -> str:
    """Return whether the free call has run when the framework pauses."""
    return {("looked",): "before", (): "after"}[tuple(ran())]


def twice(resume: Callable[[], Any]) -> str:
    """Resume in two threads at the same moment; return how often the approved refund has run."""
    ran()
    MEETING.append(threading.Barrier(2))
    ready = threading.Barrier(2)

    def run() -> None:
        ready.wait()
        with contextlib.suppress(Exception):
            resume()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    MEETING.clear()
    return {1: "once", 2: "twice"}[ran().count(list(program.REFUND.values()))]


def history(inputs: list[Any]) -> str:
    """Return which input of the refund stands in the history after a change."""
    known = (program.REFUND in inputs, CHANGED in inputs)
    return {(True, False): "original", (False, True): "changed", (True, True): "both"}[known]


def identity(first: str, second: str, call: str) -> str:
    """Return by which id a pause is answered, from those of two runs that play the same message."""
    if first == call:
        return "call"
    return "same" if first == second else "new"


def tell(package: str, **codes: str) -> None:
    program.tell(version=importlib.metadata.version(package), **codes)
