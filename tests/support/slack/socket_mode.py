"""Slack's side of Socket Mode: connections, envelopes and acknowledgements, and all the ways in which they get lost.

https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import contextlib
import json
import secrets
import select
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from tests.support.slack.workspace import Json

ACK_SECONDS = 3.0
TICKET_SECONDS = 30.0
MOST_CONNECTIONS = 10
#: What sending raises on a connection that the other side ends at the same time.
ENDED = (OSError, ConnectionClosed, InvalidState)
#: Makes `close` reset the connection.
RESET = struct.pack("ii", 1, 0)


class Link:
    """One WebSocket, served by the thread of its HTTP request."""

    def __init__(self, sock: socket.socket, mode: SocketMode, number: int) -> None:
        self.socket = sock
        self.mode = mode
        self.number = number
        self.protocol = ServerProtocol()
        self.sending = threading.RLock()
        self.frozen = threading.Event()
        self.gone = threading.Event()
        self.pongs = 0

    def serve(self, request: bytes) -> None:
        self.protocol.receive_data(request)
        for event in self.protocol.events_received():
            assert isinstance(event, Request)
            self.protocol.send_response(self.protocol.accept(event))
        self.flush()
        try:
            if self.mode.admit(self):
                self.read()
        except (*ENDED, ValueError):
            pass
        finally:
            self.mode.leave(self)

    def read(self) -> None:
        pinged = time.monotonic()
        while not self.gone.is_set():
            if self.frozen.is_set():
                self.gone.wait(0.05)
                continue
            readable, _, _ = select.select([self.socket], [], [], 0.05)
            if readable:
                data = self.socket.recv(65536)
                self.receive(data)
                if not data or self.protocol.state is not State.OPEN:
                    return
            if time.monotonic() - pinged > self.mode.ping_seconds:
                pinged = time.monotonic()
                self.ping()

    def receive(self, data: bytes) -> None:
        with self.sending:
            if data:
                self.protocol.receive_data(data)
            else:
                self.protocol.receive_eof()
            events = self.protocol.events_received()
            self.flush()
        for event in events:
            assert isinstance(event, Frame)
            if event.opcode is Opcode.TEXT:
                self.mode.take(event.data)
            elif event.opcode is Opcode.PONG:
                self.pongs += 1

    def flush(self) -> None:
        with self.sending:
            for data in self.protocol.data_to_send():
                if data:
                    self.socket.sendall(data)

    def send(self, message: Json, pieces: int = 1) -> None:
        """Send a message, in several frames if the test asks for them."""
        data = json.dumps(message).encode()
        size = -(-len(data) // pieces)
        with self.sending:
            self.protocol.send_text(data[:size], fin=pieces == 1)
            for number in range(1, pieces):
                part = data[number * size : (number + 1) * size]
                self.protocol.send_continuation(part, fin=number == pieces - 1)
            self.flush()

    def ping(self) -> None:
        with self.sending:
            self.protocol.send_ping(b"Ping from applink-1")
            self.flush()

    def freeze(self) -> None:
        """Leave the connection half open: nothing is read, answered or closed any more."""
        self.frozen.set()

    def kill(self) -> None:
        """Reset the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.end()

    def close(self, code: int = 1000) -> None:
        with self.sending, contextlib.suppress(*ENDED):
            self.protocol.send_close(code)
            self.flush()
        self.end()

    def end(self) -> None:
        self.gone.set()
        self.mode.leave(self)
        with contextlib.suppress(OSError):
            self.socket.close()


@dataclass(frozen=True)
class Ack:
    """How an envelope ended: acknowledged, with or without a payload, or not."""

    acknowledged: bool
    payload: Any = None


@dataclass
class SocketMode:
    app_id: str
    changed: threading.Condition
    object: Callable[[str], None]
    enabled: bool = False
    ping_seconds: float = 10.0
    #: So many acknowledgements get lost on their way.
    lose_acks: int = 0
    #: Frames per message.
    pieces: int = 1
    ack_seconds: float = ACK_SECONDS
    address: str = ""
    links: list[Link] = field(default_factory=list)
    connected: int = 0
    tickets: dict[str, float] = field(default_factory=dict)
    acks: dict[str, Ack] = field(default_factory=dict)
    sent: dict[str, Json] = field(default_factory=dict)
    turn: int = 0

    def new_address(self) -> str:
        ticket = secrets.token_urlsafe(18)
        self.tickets[ticket] = time.monotonic()
        return f"{self.address}/link/?ticket={ticket}&app_id={self.app_id}"

    def admits(self, ticket: str) -> bool:
        """Use up a ticket, and return whether it was good."""
        issued = self.tickets.pop(ticket, None)
        return self.enabled and issued is not None and time.monotonic() - issued < TICKET_SECONDS

    def admit(self, link: Link) -> bool:
        with self.changed:
            if len(self.links) >= MOST_CONNECTIONS:
                link.send({"type": "disconnect", "reason": "too_many_websockets", "debug_info": debug_info()})
                link.close()
                return False
            self.links.append(link)
            self.connected += 1
            self.changed.notify_all()
        hello = {
            "type": "hello",
            "num_connections": len(self.links),
            "debug_info": debug_info() | {"approximate_connection_time": 18060},
            "connection_info": {"app_id": self.app_id},
        }
        link.send(hello)
        return True

    def leave(self, link: Link) -> None:
        with self.changed:
            if link in self.links:
                self.links.remove(link)
            self.changed.notify_all()

    def take(self, data: bytes) -> None:
        """Read what an app says: it can only acknowledge."""
        try:
            message = json.loads(data)
            envelope = message["envelope_id"]
        except (ValueError, TypeError, KeyError):
            self.object(f"neither JSON nor an acknowledgement: {data[:200]!r}")
            return
        with self.changed:
            sent = self.sent.get(envelope)
            if sent is None:
                self.object(f"an acknowledgement of an unknown envelope: {envelope}")
                return
            if "payload" in message and not sent["accepts_response_payload"]:
                self.object("an acknowledgement with a payload, which this envelope does not accept")
            if self.lose_acks:
                self.lose_acks -= 1
                return
            self.acks[envelope] = Ack(acknowledged=True, payload=message.get("payload"))
            self.changed.notify_all()

    def deliver(self, kind: str, payload: Json, *, attempt: int = 0, reason: str = "") -> Ack | None:
        """Send an envelope to one of the connections, and wait for its acknowledgement; None if there is no connection."""
        envelope: Json = {
            "envelope_id": str(uuid.uuid4()),
            "payload": payload,
            "type": kind,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        with self.changed:
            if not self.links:
                return None
            self.turn += 1
            link = self.links[self.turn % len(self.links)]
            self.sent[envelope["envelope_id"]] = envelope
        with contextlib.suppress(*ENDED):
            link.send(envelope, self.pieces)
        with self.changed:
            self.changed.wait_for(lambda: envelope["envelope_id"] in self.acks, timeout=self.ack_seconds)
            return self.acks.get(envelope["envelope_id"], Ack(acknowledged=False))

    def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell each connection that it ends soon; `link_disabled` also turns Socket Mode off."""
        if reason == "link_disabled":
            self.enabled = False
        for link in list(self.links):
            with contextlib.suppress(*ENDED):
                link.send({"type": "disconnect", "reason": reason, "debug_info": debug_info()})

    def close(self) -> None:
        for link in list(self.links):
            link.close(1001)


def debug_info() -> Json:
    return {"host": "applink-1", "build_number": 10, "started": "Sun 12:00:00"}
