"""An address or header that is too long gets a proper response before the connection is closed."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import pytest

from tests.proofs.server.test_bounds import answer
from tests.support.processes.server import PATIENCE, Server
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


def said(server: Server, *pieces: bytes) -> tuple[bytes, dict[str, object]]:
    """The status line and the problem document that such a request is answered with."""
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        for piece in pieces:
            line.sendall(piece)
        head, _, body = answer(line).partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return head.split(b"\r\n")[0], json.loads(body)


@pytest.mark.parametrize("length", [16_400, 20_000, 100_000, 3_000_000])
def test_a_long_address_gets_414(server, length):
    end = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    status, problem = said(server, b"GET /requests/?q=", b"x" * length, end)
    assert status == b"HTTP/1.1 414 URI Too Long"
    assert (problem["status"], problem["code"]) == (414, "address_too_long")


def test_an_endless_address_gets_414_and_is_cut_off(server):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(b"GET /" + b"x" * 20_000)
        assert line.recv(1 << 16).startswith(b"HTTP/1.1 414 ")
        with pytest.raises(OSError):  # noqa: PT011 - reset, closed, or no longer read
            line.sendall(b"x" * (200 << 20))
    assert server.person("requester").get("/").status == 200


def test_a_long_header_gets_431(server):
    status, problem = said(server, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ", b"x" * 20_000, b"\r\n\r\n")
    assert status == b"HTTP/1.1 431 Request Header Fields Too Large"
    assert problem["code"] == "headers_too_large"


def test_many_headers_that_are_too_large_together_get_431(server):
    headers = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(20))
    status, _ = said(server, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", headers, b"\r\n")
    assert status == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_an_accepted_request_keeps_the_connection_open(server):
    request = b"GET /login/?next=" + b"x" * 8_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(request + b"\r\n" + request + b"Connection: close\r\n\r\n")
        assert answer(line).count(b"HTTP/1.1 200 OK") == 2
