"""Hundreds of open lines to one web process from one thread: long polls, streams and dashboards, as raw bytes."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import time

#: Daphne's ping, twelve bytes of a payload behind it; the pong brings them back, masked (with zeros) as a client's frames are.
PING = re.compile(rb"\x89\x0c(.{12})", re.DOTALL)
PONG = b"\x8a\x8c\0\0\0\0"


class Line:
    """An open connection, read all the time, and what has come over it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.seen = b""
        self._reader, self._writer = reader, writer
        self._came, self._over, self._answers = asyncio.Event(), False, False
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while piece := await self._reader.read(65536):
                self.seen += piece
                # Without them the server takes the page for gone.
                for payload in PING.findall(piece) if self._answers else ():
                    self._writer.write(PONG + payload)
                self._came.set()
        finally:
            self._over = True
            self._came.set()

    def answer_pings(self) -> None:
        """It is a WebSocket from now on."""
        self._answers = True

    async def until(self, wanted: bytes) -> bytes:
        """Everything up to now, when `wanted` is in it."""
        while wanted not in self.seen:
            assert not self._over, (
                f"closed before {wanted!r} came: {self.seen[-500:]!r}"
            )
            self._came.clear()
            await self._came.wait()
        return self.seen

    def forget(self) -> None:
        """Look at what comes from now on only."""
        self.seen = b""

    def close(self) -> None:
        self._reading.cancel()
        self._writer.close()


async def dial(
    port: int, method: str, path: str, body: bytes = b"", **headers: str
) -> Line:
    """Send a request and do not wait for what comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = {"Host": f"127.0.0.1:{port}", **headers} | (
        {"Content-Length": str(len(body))} if body else {}
    )
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name.replace('_', '-')}: {value}" for name, value in sent.items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
    return Line(reader, writer)


async def dashboard(port: int, cookie: str) -> Line:
    """A dashboard's WebSocket, open."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Key": key,
        "Sec_WebSocket_Version": "13",
    }
    origin = f"http://127.0.0.1:{port}"
    line = await dial(
        port,
        "GET",
        f"/ws/desk/?since={int(time.time())}",
        Cookie=cookie,
        Origin=origin,
        **upgrade,
    )
    await line.until(b"101 Switching Protocols")
    line.answer_pings()
    return line
