"""A webhook receiver in this process, which records its requests and answers as configured."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


@dataclass(frozen=True)
class Got:
    """One request; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def told(self, secret: str) -> Any:
        """The JSON of the body, after the library has checked its signature."""
        return Webhook(secret).verify(self.body, dict(self.headers))


Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        behave = self.receiver.take(Got(self.path, headers, body))
        self.close_connection = True
        with contextlib.suppress(OSError):  # the client may have gone
            behave(self)

    def do_GET(self) -> None:
        assert self.receiver.serves, "a webhook is a POST, and no redirect is followed"
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def write(self, data: bytes) -> None:
        self.connection.sendall(data)


def answer(status: int, *headers: str) -> Behaviour:
    head = "\r\n".join([f"HTTP/1.1 {status} Words", *headers, "Content-Length: 0", "", ""]).encode()
    return lambda handler: handler.write(head)


def document(status: int, body: object) -> Behaviour:
    """An answer with JSON, or with a text as it is."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    head = f"HTTP/1.1 {status} Words\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    return lambda handler: handler.write(head + content)


def silent(handler: Handler) -> None:
    """Take it and say nothing, until the test is over."""
    handler.receiver.closing.wait(300)


def die(handler: Handler) -> None:
    """Half of a status line, and gone."""
    handler.write(b"HTTP/1.1 2")


def drip(handler: Handler) -> None:
    """An answer that would take for ever, byte by byte."""
    for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Slow: 1\r\n" * 1000:
        handler.write(bytes([byte]))
        time.sleep(0.02)


def endless(handler: Handler) -> None:
    """A head that does not end."""
    handler.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.write(b"X-More: " + b"a" * 1000 + b"\r\n")


def endless_body(handler: Handler) -> None:
    """A good head, and a body that does not end."""
    handler.write(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(1000):
        handler.write(b"a" * 100_000)


def nonsense(handler: Handler) -> None:
    handler.write(b"220 mail.example.org ESMTP\r\n\r\n")


@dataclass
class Receiver:
    """Answers 204 by default; `behave` handles each request instead. Accepts GET if it `serves`."""

    behave: Callable[[Got], Behaviour] = lambda got: answer(204)
    got: list[Got] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    port: int = 0
    serves: bool = False
    closing: threading.Event = field(default_factory=threading.Event)

    def take(self, got: Got) -> Behaviour:
        self.got.append(got)
        return self.behave(got)

    def __enter__(self) -> Receiver:
        handler = type("BoundHandler", (Handler,), {"receiver": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self.port = int(self.server.server_address[1])
        self.server.daemon_threads = True
        if self.tls is not None:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://{host}:{self.port}{path}"
