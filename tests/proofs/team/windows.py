"""Open connections of clients: WebSockets and streams of real servers, each read by a thread of its own."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import struct
import threading
from http.client import HTTPConnection, HTTPException
from typing import Any

from tests.support.processes.server import PATIENCE, Person, until

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Window:
    """A page's WebSocket: all it was pushed, and the close code once it is over (0: cut)."""

    def __init__(self, person: Person, path: str, *, port: int) -> None:
        self.pushed: list[str] = []
        self.closed: int | None = None
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=2 * PATIENCE)
        self._file = self._socket.makefile("rb")
        cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
        head = [
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            f"Origin: http://127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Version: 13",
            f"Cookie: {cookies}",
        ]
        self._socket.sendall("\r\n".join([*head, "", ""]).encode())
        status = self._file.readline()
        assert b" 101 " in status, status
        while self._file.readline().strip():
            continue
        threading.Thread(target=self._read, daemon=True).start()

    def until(self, wanted: str, *, after: int = 0) -> int:
        """Wait until something with `wanted` in it was pushed behind the first `after` pushes; gives how many there are."""
        return until(lambda: self.find(wanted, after=after), f"{wanted!r} is pushed")

    def find(self, wanted: str, *, after: int = 0) -> int:
        pushed = self.pushed
        return next((n + 1 for n in range(after, len(pushed)) if wanted in pushed[n]), 0)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError, struct.error):
            while self.closed is None:
                kind, payload = self._frame()
                if kind == TEXT:
                    self.pushed.append(payload.decode())
                elif kind == PING:
                    # The mask may be of zeros.
                    self._socket.sendall(bytes([0x80 | PONG, 0x80 | len(payload), 0, 0, 0, 0]) + payload)
                elif kind == CLOSE:
                    self.closed = int.from_bytes(payload[:2], "big")
        self.closed = self.closed or 0

    def _frame(self) -> tuple[int, bytes]:
        first, length = struct.unpack("!BB", self._file.read(2))
        if length == 126:
            (length,) = struct.unpack("!H", self._file.read(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._file.read(8))
        return first & 0x0F, self._file.read(length)


class Call:
    """A request whose answer takes its time: its status, the lines that have come, and whether it is over, or was cut."""

    def __init__(self, port: int, key: str, method: str, path: str, body: Any = None) -> None:
        self.status, self.lines, self.over, self.cut = 0, [], False, False
        self._line = HTTPConnection("127.0.0.1", port, timeout=2 * PATIENCE)
        self._asked = (method, path, None if body is None else json.dumps(body))
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        threading.Thread(target=self._read, daemon=True).start()

    status: int
    lines: list[str]

    def _read(self) -> None:
        try:
            self._line.request(*self._asked, self._headers)
            answer = self._line.getresponse()
            self.status = answer.status
            while line := answer.readline():
                self.lines.append(line.decode().strip())
        except (OSError, HTTPException):
            self.cut = True
        finally:
            self.over = True
            self._line.close()

    @property
    def json(self) -> Any:
        return json.loads("".join(self.lines))

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """Of an AI SDK stream."""
        found = [line.removeprefix("data: ") for line in self.lines if line.startswith("data: {")]
        return [json.loads(line) for line in found]

    @property
    def text(self) -> str:
        return "".join(chunk["delta"] for chunk in self.chunks if chunk["type"] == "text-delta")

    def wait(self) -> None:
        until(lambda: self.over, "the answer ends")


def say(port: int, key: str, chat: str, text: str, *, agent: str = "") -> Call:
    """Post a message like the AI SDK, and follow its stream."""
    message = {"id": f"{chat}-m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": chat, "messages": [message], "trigger": "submit-message"} | ({"agent": agent} if agent else {})
    return Call(port, key, "POST", "/api/chat", body)
