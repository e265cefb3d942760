"""Send one request to a checked address, with a limit on the total time and on the size of the response.

Common clients resolve the name again after the check, follow redirects, use proxies, and apply timeouts to each read.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException, HTTPResponse, IncompleteRead
from io import BytesIO

from django.utils.translation import gettext as _

from approvals import addresses
from approvals.addresses import Destination, IPAddress
from approvals.text.numbers import grouped

#: Total time limit for name lookup, connection, TLS, sending, and the head of the response.
SECONDS = 10.0
MAX_HEAD = 16_384
CHUNK = 16_384
STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")


class Undelivered(Exception):
    """The request got no valid response; the message gives the reason."""


class ResponseLost(Undelivered):
    """The request was sent and may have arrived, but got no valid response."""


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allow_private: bool,
    seconds: float,
) -> int:
    """POST `body` and return the status of the response, whose body is not read.

    Raise Undelivered if there is no allowed address, no connection, or no HTTP response in time.
    """
    deadline = time.monotonic() + seconds
    with opened(url, deadline, allow_private=allow_private, seconds=seconds) as (
        to,
        connection,
    ):
        _send(connection, _head(to, headers, len(body)) + body, deadline)
        return _status(connection, deadline)


def get(url: str, *, allow_private: bool, seconds: float, max_bytes: int) -> bytes:
    """Return the body of a GET response, of at most `max_bytes`. Raise Undelivered as `post`, or for a status other than 200."""
    reply = exchange(
        "GET",
        url,
        b"",
        {},
        allow_private=allow_private,
        seconds=seconds,
        max_bytes=max_bytes,
    )
    if reply.status != 200:
        raise Undelivered(_("answered %(status)s") % {"status": reply.status})
    return reply.body


@dataclass(frozen=True, slots=True)
class FullResponse:
    """A complete response; redirects are not followed."""

    status: int
    content_type: str
    body: bytes
    retry_after: str = ""


def exchange(
    method: str,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allow_private: bool,
    seconds: float,
    max_bytes: int,
) -> FullResponse:
    """Send a request and return its response, with a body of at most `max_bytes`.

    Raise Undelivered as `post`: ResponseLost once the request was sent.
    """
    deadline = time.monotonic() + seconds
    headers = {"Accept-Encoding": "identity", **headers}
    if body:
        headers["Content-Length"] = str(len(body))
    sent = False
    try:
        with opened(url, deadline, allow_private=allow_private, seconds=seconds) as (
            to,
            connection,
        ):
            head = _lines(f"{method} {to.path} HTTP/1.1", to, headers)
            _send(connection, head + body, deadline)
            sent = True
            received = _all(connection, deadline, MAX_HEAD + 2 * max_bytes)
    except Undelivered as error:
        raise (ResponseLost if sent else Undelivered)(str(error)) from error
    response = HTTPResponse(_Received(received))  # type: ignore[arg-type]  # all that it needs of a socket
    try:
        response.begin()
        content = response.read(max_bytes + 1)
        if response.length:
            raise IncompleteRead(content)
    except (HTTPException, ValueError) as error:
        raise ResponseLost(_("the response is not HTTP, or incomplete")) from error
    if len(content) > max_bytes:
        raise ResponseLost(
            _("the response is longer than %(limit)s bytes")
            % {"limit": grouped(max_bytes)}
        )
    return FullResponse(
        response.status,
        response.headers.get("Content-Type", ""),
        content,
        response.headers.get("Retry-After", ""),
    )


class _Received:
    """The received bytes, with the one method of a socket that HTTPResponse needs."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self._received)


@contextmanager
def opened(
    url: str, deadline: float, *, allow_private: bool, seconds: float
) -> Iterator[tuple[Destination, socket.socket]]:
    """Connect to a checked address, and convert errors to Undelivered."""
    try:
        to = addresses.parse_destination(url, allow_private=allow_private)
        resolved = addresses.resolve(
            to.host, to.port, allow_private=allow_private, seconds=seconds
        )
        with _connected(to, resolved, deadline) as connection:
            yield to, connection
    except addresses.RefusedAddress as error:
        raise Undelivered(_("the address %(problem)s") % {"problem": error}) from error
    except TimeoutError as error:
        raise Undelivered(
            _("no response within %(seconds)s s") % {"seconds": f"{seconds:g}"}
        ) from error
    except (OSError, ssl.CertificateError) as error:
        raise Undelivered(_("no connection: %(error)s") % {"error": error}) from error


@cache
def tls() -> ssl.SSLContext:
    """Return the TLS context; SSL_CERT_FILE may name a file of certificate authorities."""
    return ssl.create_default_context()


def _connected(
    to: Destination, resolved: list[IPAddress], deadline: float
) -> socket.socket:
    """Connect to the first address that accepts a connection."""
    refused: OSError = OSError(_("the host has no address"))
    for number, address in enumerate(resolved):
        plain = socket.socket(
            socket.AF_INET6 if address.version == 6 else socket.AF_INET
        )
        try:
            # Leave time for the other addresses.
            plain.settimeout(_left(deadline) / (len(resolved) - number))
            plain.connect((str(address), to.port))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if to.scheme == "http":
                return plain
            plain.settimeout(_left(deadline))
            return tls().wrap_socket(plain, server_hostname=to.host)
        except OSError as error:
            plain.close()
            refused = error
    raise refused


def _head(to: Destination, headers: Mapping[str, str], length: int) -> bytes:
    return _lines(
        f"POST {to.path} HTTP/1.1", to, {"Content-Length": str(length), **headers}
    )


def _lines(first: str, to: Destination, headers: Mapping[str, str]) -> bytes:
    lines = [first, f"Host: {to.authority}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    assert not any("\r" in line or "\n" in line for line in lines)
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _send(connection: socket.socket, data: bytes, deadline: float) -> None:
    rest = memoryview(data)
    while rest:
        connection.settimeout(_left(deadline))
        rest = rest[connection.send(rest[:CHUNK]) :]


def _all(connection: socket.socket, deadline: float, limit: int) -> bytes:
    """Return all bytes sent until the connection is closed, up to a limit."""
    received = bytearray()
    while len(received) <= limit:
        connection.settimeout(_left(deadline))
        chunk = connection.recv(CHUNK)
        if not chunk:
            break
        received += chunk
    return bytes(received)


def _status(connection: socket.socket, deadline: float) -> int:
    """Return the status of the response, skipping any `1xx`."""
    received = b""
    while len(received) <= MAX_HEAD:
        head, end, rest = received.partition(b"\r\n\r\n")
        if end:
            line = STATUS_LINE.match(head + b"\r\n")
            if line is None:
                raise Undelivered(_("the response is not HTTP"))
            if line[1] != b"101" and line[1].startswith(b"1"):
                received = rest
                continue
            return int(line[1])
        connection.settimeout(_left(deadline))
        chunk = connection.recv(4096)
        if not chunk:
            raise Undelivered(_("the connection was closed before a response arrived"))
        received += chunk
    raise Undelivered(
        _("the headers of the response are longer than %(limit)s bytes")
        % {"limit": grouped(MAX_HEAD)}
    )


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
