"""Hundreds of open lines to one web process from one thread: long polls, streams and dashboards, as raw bytes."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from dataclasses import dataclass


@dataclass
class Line:
    """An open connection, and what has come over it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seen: bytes = b""

    async def until(self, wanted: bytes) -> bytes:
        """Everything up to now, when `wanted` is in it."""
        while wanted not in self.seen:
            piece = await self.reader.read(65536)
            assert piece, f"closed before {wanted!r} came: {self.seen[-500:]!r}"
            self.seen += piece
        return self.seen

    def forget(self) -> None:
        """Look at what comes from now on only."""
        self.seen = b""

    def close(self) -> None:
        self.writer.close()


async def dial(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> Line:
    """Send a request and do not wait for what comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = {"Host": f"127.0.0.1:{port}", **headers} | ({"Content-Length": str(len(body))} if body else {})
    lines = [f"{method} {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in sent.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
    return Line(reader, writer)


async def dashboard(port: int, cookie: str) -> Line:
    """A dashboard's WebSocket, open."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Key": key, "Sec_WebSocket_Version": "13"}
    origin = f"http://127.0.0.1:{port}"
    line = await dial(port, "GET", f"/ws/desk/?since={int(time.time())}", Cookie=cookie, Origin=origin, **upgrade)
    await line.until(b"101 Switching Protocols")
    return line
