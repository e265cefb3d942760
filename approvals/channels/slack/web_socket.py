"""A WebSocket to a checked address. One thread reads and writes; others leave messages for it.

slack_sdk's client drops messages in several frames, and hears nothing more after a pause within a frame.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from approvals import http_post
from approvals.http_post import Undelivered

OPEN_SECONDS = 10.0
SEND_SECONDS = 10.0
#: A quiet connection is pinged after this long, and given up after `LOST_AFTER`.
PING_AFTER = 5.0
LOST_AFTER = 15.0
CHUNK = 65_536
MAX_BYTES = 1_000_000


@contextmanager
def open_socket(url: str, *, allow_private: bool) -> Iterator[WebSocket]:
    """Open a WebSocket, and close it at the end. Raise Undelivered whenever it is lost."""
    deadline = time.monotonic() + OPEN_SECONDS
    with http_post.opened(
        url.replace("ws", "http", 1),
        deadline,
        allow_private=allow_private,
        seconds=OPEN_SECONDS,
    ) as (_to, connection):
        protocol = ClientProtocol(parse_uri(url), max_size=MAX_BYTES)
        opened = WebSocket(connection, protocol)
        try:
            opened.shake_hands(deadline)
            yield opened
        finally:
            opened.close()


class WebSocket:
    """Made by `open_socket`."""

    def __init__(self, connection: socket.socket, protocol: ClientProtocol) -> None:
        self._connection = connection
        self._protocol = protocol
        self._parts: list[bytes] = []
        #: Messages that came right behind the handshake.
        self._early: list[str] = []
        self._outgoing: deque[str] = deque()
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(connection, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._heard_at = time.monotonic()
        self._pinged_at = self._heard_at

    def shake_hands(self, deadline: float) -> None:
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        while self._protocol.state is State.CONNECTING:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._early += self._read(left)
            if self._protocol.handshake_exc is not None:
                raise Undelivered(str(self._protocol.handshake_exc))

    def receive(self, seconds: float) -> list[str]:
        """Send what others left, and return the messages that arrive; wait this long for the first one."""
        messages = [*self._early, *self._read(0 if self._early else seconds)]
        self._early.clear()
        while self._outgoing:
            self._protocol.send_text(self._outgoing.popleft().encode())
        now = time.monotonic()
        if now - self._heard_at > LOST_AFTER:
            raise TimeoutError
        if now - max(self._heard_at, self._pinged_at) > PING_AFTER:
            self._pinged_at = now
            self._protocol.send_ping(b"")
        self._flush()
        return messages

    def leave(self, message: str) -> None:
        """Leave a message for the thread that uses the socket. It is lost if the socket is closed before."""
        self._outgoing.append(message)
        try:
            self._waker.send(b"x")
        except OSError:
            # Closed.
            return

    def close(self) -> None:
        try:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close()
                self._flush()
        except (OSError, Undelivered):
            # It is lost already.
            pass
        finally:
            self._selector.close()
            self._waker.close()
            self._woken.close()

    def _read(self, seconds: float) -> list[str]:
        pending = isinstance(self._connection, ssl.SSLSocket) and (
            self._connection.pending()
        )
        ready = self._selector.select(0 if pending else seconds)
        if any(key.fileobj is self._woken for key, _events in ready):
            self._woken.recv(CHUNK)
        if not pending and not any(
            key.fileobj is self._connection for key, _events in ready
        ):
            return []
        self._connection.setblocking(False)
        try:
            data = self._connection.recv(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return []
        self._heard_at = time.monotonic()
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        messages = list(self._messages())
        self._flush()
        if self._protocol.state in (State.CLOSING, State.CLOSED):
            raise Undelivered(_("the connection was closed"))
        return messages

    def _messages(self) -> Iterator[str]:
        """Yield the messages that are complete; a message may come in several frames."""
        for event in self._protocol.events_received():
            if not isinstance(event, Frame):
                continue
            if event.opcode not in (Opcode.TEXT, Opcode.CONT):
                continue
            self._parts.append(bytes(event.data))
            if event.fin:
                yield b"".join(self._parts).decode(errors="replace")
                self._parts.clear()

    def _flush(self) -> None:
        self._connection.settimeout(SEND_SECONDS)
        for data in self._protocol.data_to_send():
            if data:
                self._connection.sendall(data)
