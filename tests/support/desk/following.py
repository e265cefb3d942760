"""Followers of the event stream in tests: the real application, in this process, without a socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from asgiref.testing import ApplicationCommunicator

from tests.support.machines import Machine

ADDRESS = "/api/v1/events"
#: Seconds for something immediate; a loaded machine may need them.
SOON = 60.0


@dataclass(frozen=True)
class Heard:
    """One event, by the rules of WHATWG HTML."""

    event: str
    id: str
    data: dict[str, Any]

    @property
    def own_id(self) -> str:
        """AgentForge's part of the id."""
        return self.id.rpartition(";")[0]


class Parser:
    """Bytes to events, as a browser does it: also remembers the last id, from blocks without data too."""

    def __init__(self) -> None:
        self.buffer, self.last_id, self.comments = "", "", list[str]()

    def feed(self, piece: bytes) -> list[Heard]:
        self.buffer += piece.decode()
        *blocks, self.buffer = self.buffer.split("\n\n")
        return [heard for block in blocks if (heard := self._block(block)) is not None]

    def _block(self, block: str) -> Heard | None:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            else:
                self.comments.append(line)
        self.last_id = fields.get("id", self.last_id)
        return Heard(fields["event"], self.last_id, json.loads(fields["data"])) if "data" in fields else None


class Follower:
    """A client that keeps the events it received."""

    def __init__(self, line: ApplicationCommunicator, status: int, headers: dict[str, str]) -> None:
        self.line, self.status, self.headers = line, status, headers
        self.parser, self.heard, self.closed = Parser(), list[Heard](), False

    @property
    def names(self) -> list[str]:
        return [heard.event for heard in self.heard]

    async def hear(self, count: int, seconds: float = SOON) -> list[Heard]:
        """Everything heard, once it is `count` events or more."""
        deadline = time.monotonic() + seconds
        while len(self.heard) < count:
            left = deadline - time.monotonic()
            message = f"{count} events were expected, these came: {self.names}"
            assert left > 0, message
            assert not self.closed, message
            await self._next(left)
        return self.heard

    async def nothing(self, seconds: float = 0.2) -> bool:
        before = len(self.heard)
        with contextlib.suppress(AssertionError):
            await self.hear(before + 1, seconds)
        return len(self.heard) == before

    async def close(self, seconds: float = SOON) -> None:
        """Wait until the server closes; keep everything received before."""
        async with asyncio.timeout(seconds):
            while not self.closed:
                await self._next(seconds)

    async def _next(self, seconds: float) -> None:
        # Not receive_output with a short time: it would end the application when the time is up.
        try:
            message = await asyncio.wait_for(self.line.output_queue.get(), seconds)
        except TimeoutError:
            return
        self.heard += self.parser.feed(message.get("body", b""))
        self.closed = not message.get("more_body", False)


@contextlib.asynccontextmanager
async def following(machine: Machine, query: str = "", last: str = "", **headers: str) -> AsyncIterator[Follower]:
    """A follower that is connected and listens."""
    sent = headers | ({"last-event-id": last} if last else {})
    line = machine.connect("GET", f"{ADDRESS}{query}", b"", sent)
    await line.send_input({"type": "http.request", "body": b""})
    start = await line.receive_output(SOON)
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    follower = Follower(line, start["status"], found)
    try:
        async with asyncio.timeout(SOON):
            while not follower.parser.last_id and not follower.closed:
                await follower._next(SOON)
        yield follower
    finally:
        await line.send_input({"type": "http.disconnect"})
        await line.wait(SOON)
