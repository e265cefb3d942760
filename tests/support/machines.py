"""API clients in this process: the real ASGI application and the real runner, without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User

from approvals.administration.keys.actions import create_key
from approvals.db import pool
from approvals.live import doorbell
from chats.engine import sweep
from chats.engine.jobs import Jobs
from hitlsite.asgi import application

T = TypeVar("T")
SCOPES = ("ask", "decide", "read")
#: Seconds for something immediate; a loaded machine may need them.
PATIENCE = 60
#: Seconds between searches for queued turns that no runner took.
SWEEP = 10


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The code of a problem document."""
        assert self.headers["content-type"] == "application/problem+json", self.text[:300]
        return str(self.json["code"])

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The chunks of a UI message stream, which has to end with [DONE]."""
        assert (self.status, self.headers["content-type"]) == (200, "text/event-stream"), self.text[:300]
        data = [line.removeprefix("data: ") for line in self.text.split("\n\n") if line.startswith("data: ")]
        assert data[-1] == "[DONE]"
        return [json.loads(line) for line in data[:-1]]

    @property
    def types(self) -> list[str]:
        return [chunk["type"] for chunk in self.chunks]


class Machine:
    """Calls the API with a Bearer token; none where it is empty."""

    def __init__(self, token: str = "") -> None:
        self.token = token

    def call(self, method: str, path: str, body: Any = None, **given: Any) -> Answer:
        return together(self.acall(method, path, body, **given))[0]

    def get(self, path: str, **given: Any) -> Answer:
        return self.call("GET", path, **given)

    def post(self, path: str, body: Any, **given: Any) -> Answer:
        return self.call("POST", path, body, **given)

    async def acall(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request, read to its end. `raw` is sent instead of a JSON body."""
        content = raw if raw is not None else json.dumps(body).encode() if body is not None else b""
        line = self.connect(method, path, content, headers or {})
        await line.send_input({"type": "http.request", "body": content})
        return await answer_on(line, await line.receive_output(PATIENCE))

    def connect(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> ApplicationCommunicator:
        """A connection whose request line and headers are sent; its user sends the body and reads the answer."""
        sent = {"host": "localhost", "content-type": "application/json", "content-length": str(len(content))}
        sent |= {"authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= {name.lower(): value for name, value in headers.items()}
        address, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(address),
            "raw_path": address.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 40000),
            "server": ("localhost", 80),
        }
        return ApplicationCommunicator(application, scope)


async def answer_on(line: ApplicationCommunicator, start: dict[str, Any]) -> Answer:
    """The answer that has begun with `start`, read to its end."""
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    text, more = b"", True
    while more:
        message = await line.receive_output(PATIENCE)
        text, more = text + message.get("body", b""), message.get("more_body", False)
    await line.wait(PATIENCE)
    # Files are no text.
    return Answer(start["status"], found, text.decode(errors="replace"))


def machine(user: User, *scopes: str) -> Machine:
    """A machine with a key of this user's."""
    return Machine(create_key(user, name="test", scopes=scopes or SCOPES)[1])


def together(*calls: Awaitable[T]) -> Sequence[T]:
    """Await all at once, on a loop that runs turns like the server's."""

    async def story() -> Sequence[T]:
        return await asyncio.gather(*calls)

    return served(story)


def served(story: Callable[[], Awaitable[T]]) -> T:
    """Run a story on a loop that runs turns like the server's."""

    async def main() -> T:
        loop = asyncio.get_running_loop()
        jobs = Jobs(loop)
        doorbell.use_loop(loop)
        jobs.open()
        sweeping = asyncio.create_task(wake_stuck_turns())
        try:
            return await asyncio.wait_for(story(), 2 * PATIENCE)
        finally:
            sweeping.cancel()
            await jobs.drain(PATIENCE)

    return asyncio.run(main())


async def wake_stuck_turns() -> None:
    """Do the server's sweep of every second, but late: it costs statements, which tests count.

    A runner does not wait for a turn that is locked, and on PostgreSQL the last of two decisions may lock it for a moment.
    """
    while True:
        await asyncio.sleep(SWEEP)
        await pool.run(sweep.wake_stuck_turns)


class Client:
    """A chat client that keeps its own copy of the conversation, like the AI SDK's, and may lie about it."""

    def __init__(self, machine: Machine, chat: str = "c1") -> None:
        self.machine, self.chat = machine, chat
        self.messages: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return f"/api/chat/{quote(self.chat, safe='')}"

    def say(self, text: str, **given: Any) -> Answer:
        """Send a message and read the result; the copy is then the stored state."""
        self.messages.append(user_message(text, f"u{len(self.messages)}"))
        answer = self.post(**given)
        self.read()
        return answer

    def body(self, **given: Any) -> dict[str, Any]:
        body = {"id": self.chat, "messages": self.messages, "trigger": "submit-message", **given}
        return {name: value for name, value in body.items() if value is not None}

    def post(self, **given: Any) -> Answer:
        return self.machine.post("/api/chat", self.body(**given))

    async def apost(self, **given: Any) -> Answer:
        return await self.machine.acall("POST", "/api/chat", self.body(**given))

    async def astop(self) -> Answer:
        return await self.machine.acall("POST", f"{self.address}/stop")

    def read(self) -> dict[str, Any]:
        """Copy the stored messages; return the whole answer."""
        answer = self.machine.get(self.address)
        assert answer.status == 200, answer.text
        self.messages = answer.json["messages"]
        found: dict[str, Any] = answer.json
        return found

    @property
    def last(self) -> dict[str, Any]:
        return self.messages[-1]

    def calls(self, name: str = "") -> list[dict[str, Any]]:
        """The tool parts of the last message."""
        return [part for part in self.last["parts"] if part["type"].startswith(f"tool-{name}")]

    def answer(self, *outputs: Any) -> Answer:
        """Answer the open questions of the last message in order, and post."""
        self.fill(*outputs)
        return self.post(messageId=self.last["id"])

    def fill(self, *outputs: Any) -> None:
        waiting = [part for part in self.calls() if part["state"] == "input-available"]
        for part, output in zip(waiting, outputs, strict=False):
            part |= {"state": "output-available", "output": output}

    def rule(self, approved: bool, reason: str = "") -> Answer:
        """Approve or deny the pending calls of the last message, and post."""
        for part in self.calls():
            if part["state"] == "approval-requested":
                given = {"id": part["approval"]["id"], "approved": approved} | ({"reason": reason} if reason else {})
                part |= {"state": "approval-responded", "approval": given}
        return self.post(messageId=self.last["id"])


def user_message(text: str, message_id: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}
