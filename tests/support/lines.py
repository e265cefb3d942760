"""WebSockets of open pages, as the server sees them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import Client

from approvals.db.pool import run
from approvals.live import liveness
from hitlsite.asgi import application

ORIGIN = "http://localhost"
#: Seconds for something immediate; a loaded machine may need them.
SOON = 60


def cookie_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"sessionid={client.session.session_key}"


class Line(WebsocketCommunicator):
    """An open page."""

    async def push(self) -> str:
        return str(await self.receive_from(SOON))

    async def closed_with(self) -> int:
        message = await self.receive_output(SOON)
        assert message["type"] == "websocket.close", message
        return int(message["code"])

    async def until(self, wanted: str) -> str:
        """Everything that is pushed until something with `wanted` in it."""
        deadline, seen = time.monotonic() + SOON, ""
        while wanted not in seen:
            assert time.monotonic() < deadline, f"{wanted!r} was not pushed; seen: {seen}"
            seen += await self.push()
        return seen


def dial(path: str, origin: str = ORIGIN, cookie: str = "") -> Line:
    headers = [(b"host", b"localhost"), (b"origin", origin.encode()), (b"cookie", cookie.encode())]
    return Line(application, path, headers=headers)


@contextlib.asynccontextmanager
async def line(path: str, user: User, *, cookie: str = "") -> AsyncIterator[Line]:
    """A page of this user's that hears rings; a session of its own unless it gets one."""
    before = set(liveness._pages)
    opened = dial(path, cookie=cookie or await run(cookie_of, user))
    assert (await opened.connect(SOON))[0]
    async with asyncio.timeout(SOON):
        # A page is open once all of its groups are joined: earlier messages are lost without a valid `since`.
        while not set(liveness._pages) - before:
            await asyncio.sleep(0.005)
    try:
        yield opened
    finally:
        await opened.disconnect(timeout=SOON)
