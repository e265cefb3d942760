"""A program with a key that talks to an installation over one kept connection: asks, decides, reports, chats."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from uuid import uuid4

from tests.support.processes.deployed import Site

ASK = {
    "kind": "approval",
    "title": "Refund order 4711?",
    "tool_name": "refund",
    "input": {"amount": 120},
}
#: Seconds; a server closes a kept connection after a minute without use.
IDLE = 20.0


def make_key(site: Site, name: str = "approver") -> str:
    """A new key of one of the demo's people, made by a command, which other checkouts have too."""
    words = (
        "createkey",
        "--user",
        name,
        "--name",
        "a program",
        "--scopes",
        "ask,decide,read",
    )
    return site.manage(*words).stdout.strip()


class Program:
    """One connection; use it in one thread. `decider` is the key of somebody else, who approves what this program asks."""

    def __init__(self, port: int, key: str, decider: str = "") -> None:
        self.line = HTTPConnection("127.0.0.1", port, timeout=120)
        self.used = time.monotonic()
        self._second: Program | None = None
        self.headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
        }
        self.deciding = {"Authorization": f"Bearer {decider or key}"}

    def close(self) -> None:
        self.line.close()
        if self._second is not None:
            self._second.close()

    def second(self) -> Program:
        """Another connection of the same program, kept as well."""
        if self._second is None:
            self._second = Program(
                self.line.port, self.headers["Authorization"].removeprefix("Bearer ")
            )
        return self._second

    def open(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> HTTPResponse:
        """The response, whose body is still to come."""
        if time.monotonic() - self.used > IDLE:
            # The server may be about to close it; a new one is made by itself.
            self.line.close()
        self.used = time.monotonic()
        self.line.request(
            method,
            path,
            None if body is None else json.dumps(body),
            self.headers | headers,
        )
        return self.line.getresponse()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The document that comes back; fails for a refusal."""
        response = self.open(method, path, body, **headers)
        text = response.read()
        assert response.status < 300, (method, path, response.status, text[:500])
        return json.loads(text)

    def ask(self, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.send("POST", "/api/v1/requests", ASK | more)
        return found

    def wait(self, request: str, seconds: int = 60) -> dict[str, Any]:
        """A long poll."""
        found: dict[str, Any] = self.send(
            "GET", f"/api/v1/requests/{request}?wait={seconds}"
        )
        return found

    def approve(self, request: str) -> dict[str, Any]:
        path = f"/api/v1/requests/{request}/decision"
        found: dict[str, Any] = self.send(
            "POST", path, {"verdict": "approve"}, **self.deciding
        )
        return found

    def report(self, asked: dict[str, Any]) -> None:
        """What came of an approved request."""
        body = {"input_digest": asked["input_digest"], "output": {"refunded": True}}
        self.send("POST", f"/api/v1/requests/{asked['id']}/result", body)

    def say(self, chat: str, text: str) -> HTTPResponse:
        """A new message; its answer streams."""
        message = {
            "id": uuid4().hex,
            "role": "user",
            "parts": [{"type": "text", "text": text}],
        }
        return self.open("POST", "/api/chat", {"id": chat, "message": message})

    def pause(self, chat: str, text: str = "book it") -> str:
        """Say what makes the agent ask; the id of its request."""
        told = self.say(chat, text).read().decode()
        (pending,) = self.send("GET", f"/api/chat/{chat}")["pending"]
        assert '"tool-approval-request"' in told, told
        return str(pending["requestId"])

    def status(self, chat: str) -> str:
        """`idle`, `queued`, `running`, `suspended` or `failed`."""
        return str(self.send("GET", f"/api/chat/{chat}")["status"])

    def answer(self, chat: str) -> str:
        """Approve as an AI SDK client does, inside its copy of the message; what streams back, to its end."""
        last = self.send("GET", f"/api/chat/{chat}")["messages"][-1]
        for part in last["parts"]:
            if part.get("state") == "approval-requested":
                part["state"], part["approval"] = (
                    "approval-responded",
                    part["approval"] | {"approved": True},
                )
        return (
            self.open("POST", "/api/chat", {"id": chat, "message": last})
            .read()
            .decode()
        )
