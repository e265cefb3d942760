"""A WebSocket to a checked address.

slack_sdk's client drops messages in several frames, and hears nothing more after a pause within a frame.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection
from websockets.uri import parse_uri

from approvals import http_post
from approvals.http_post import Undelivered

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 1.0
#: A connection is pinged this often, and given up if no answer comes for so long.
PING_AFTER = 5.0
LOST_AFTER = 10.0
MAX_BYTES = 1_000_000


@contextmanager
def open_socket(url: str, *, allow_private: bool) -> Iterator[WebSocket]:
    """Open a WebSocket, and close it at the end. Raise Undelivered whenever it is lost."""
    deadline = time.monotonic() + OPEN_SECONDS
    with (
        http_post.opened(
            url.replace("ws", "http", 1),
            deadline,
            allow_private=allow_private,
            seconds=OPEN_SECONDS,
        ) as (_to, connection),
        _lost_as_undelivered(),
    ):
        connection.settimeout(None)
        protocol = ClientProtocol(parse_uri(url), max_size=MAX_BYTES)
        with ClientConnection(
            connection,
            protocol,
            ping_interval=PING_AFTER,
            ping_timeout=LOST_AFTER,
            close_timeout=CLOSE_SECONDS,
        ) as opened:
            opened.handshake(timeout=max(deadline - time.monotonic(), 0))
            opened.start_keepalive()
            yield WebSocket(opened)


class WebSocket:
    """Made by `open_socket`. One thread receives; others send, too."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def receive(self, seconds: float) -> str | None:
        """Return the next message; None if none comes within this time. Raise Undelivered."""
        with _lost_as_undelivered():
            try:
                message = self._connection.recv(seconds)
            except TimeoutError:
                return None
        return message if isinstance(message, str) else ""

    def send(self, message: str) -> None:
        """Send a message. Raise Undelivered."""
        with _lost_as_undelivered():
            self._connection.send(message)


@contextmanager
def _lost_as_undelivered() -> Iterator[None]:
    try:
        yield
    except WebSocketException as error:
        raise Undelivered(str(error)) from error
