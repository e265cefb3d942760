"""WebSockets of open pages, as the server sees them."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import AsyncIterator

from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import Client

from approvals.db.pool import run
from hitlsite.asgi import application

ORIGIN = "http://localhost"
#: Seconds for something immediate; a loaded machine may need them.
SOON = 60
MARK = re.compile(r'<span id="live" hx-swap-oob="outerHTML"[^>]+>(?:\s*<span [^>]+>[^<]*</span>)+\s*</span>')


def cookie_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"sessionid={client.session.session_key}"


class Line(WebsocketCommunicator):
    """An open page."""

    #: The changes that the page had missed, until they are read.
    missed = ""

    async def push(self) -> str:
        missed, self.missed = self.missed, ""
        return missed or str(await self.receive_from(SOON))

    async def receive_nothing(self, timeout: float = 0.1, interval: float = 0.01) -> bool:
        return not self.missed and bool(await super().receive_nothing(timeout, interval))

    async def catch_up(self) -> None:
        """Read the mark that the page is live, and keep the changes that come with it for the first push."""
        self.missed = MARK.sub("", str(await self.receive_from(SOON))).strip()

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
    opened = dial(path, cookie=cookie or await run(cookie_of, user))
    assert (await opened.connect(SOON))[0]
    # A page that is live has joined all of its groups, and hears every ring.
    await opened.catch_up()
    try:
        yield opened
    finally:
        await opened.disconnect(timeout=SOON)
