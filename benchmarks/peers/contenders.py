"""The contenders: each runs batches of the same cycle, many clients at once, on a database of its own.

The cycle: a message, an idempotent tool, a pause for a person, the decision, the approved tool, a last text. The lean graph of
LangGraph has a pause, the decision and what is approved alone. Over REST the agent runs elsewhere, so the cycle is what it asks
of Pausepoint: a request and the decision, and what each agent adds that waits for it, or reports the result of its tool.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from benchmarks import cycles
from benchmarks.chat_client import ChatClient
from benchmarks.load.program import Program
from benchmarks.peers import environments
from benchmarks.stage import Stage, new_database
from tests.support.processes.postgres import Cluster


class Contender(Protocol):
    """`name` is its row in the table, `url` its database."""

    name: str
    url: str

    def batch(self, at_once: int, each: int) -> float:
        """Let so many clients run `each` cycles at the same time. Return the seconds until the last has ended."""


class Ours:
    """One web process, which also runs the turns; its clients are threads of the benchmark and talk to it over HTTP."""

    def __init__(
        self, name: str, stage: Stage, cycle: cycles.Cycle, clients: int
    ) -> None:
        self.name, self.url, self.cycle = name, stage.url, cycle
        self.programs = [stage.program() for _ in range(clients)]

    def batch(self, at_once: int, each: int) -> float:
        began = time.monotonic()
        with ThreadPoolExecutor(at_once) as pool:
            list(
                pool.map(
                    lambda program: [self.cycle(program) for _ in range(each)],
                    self.programs[:at_once],
                )
            )
        return time.monotonic() - began


class Rival:
    """One process, in which its clients are threads that call it directly."""

    def __init__(self, name: str, url: str, process: subprocess.Popen[str]) -> None:
        self.name, self.url, self.process = name, url, process
        assert self._line() == "ready\n"

    def batch(self, at_once: int, each: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{at_once} {each}\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"{self.name} has ended"
        return line


@contextmanager
def rival(
    name: str, package: str, program: str, cluster: Cluster, clients: int
) -> Iterator[Rival]:
    """Start `rivals/PROGRAM.py` in the environment of its package."""
    url = new_database(cluster)
    command = [
        str(environments.python(package)),
        str(environments.RIVALS / f"{program}.py"),
        url,
        str(clients),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Rival(name, url, process)
        finally:
            process.kill()


def in_a_chat(program: Program) -> None:
    """Run a cycle as an AI SDK client does, in two requests."""
    client = ChatClient(program)
    client.say("look up and book it")
    client.approve()
    assert client.text == "Done: booked 5", client.answer


def with_as_much_input(program: Program) -> None:
    """Ask and wait for a call whose input is as long as that of the lean graph."""
    cycles.with_a_wait(program, input={"amount": 5, "note": "x" * 1000})


def ours(stage: Stage, clients: int, label: str = "Pausepoint") -> list[Contender]:
    found: dict[str, cycles.Cycle] = {
        "REST: ask, decide": cycles.ask_and_decide,
        "REST: ask, decide, report": cycles.over_rest,
        "REST: ask, wait, decide": cycles.with_a_wait,
        "REST: ask, wait, decide; 1 kB of input": with_as_much_input,
        "chat": in_a_chat,
    }
    return [
        Ours(f"{label}, {name}", stage, cycle, clients) for name, cycle in found.items()
    ]
