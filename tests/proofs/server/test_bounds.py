"""A real server refuses a body beyond the bound before it is stored."""

from __future__ import annotations

import socket
from contextlib import closing, suppress

import pytest

from tests.proofs.server.test_backpressure import memory
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

MIB = b"x" * (1 << 20)


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode()


def answer(line: socket.socket) -> bytes:
    found = b""
    while piece := line.recv(1 << 16):
        found += piece
    return found


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
@pytest.mark.parametrize("path", ["/login/", "/api/v1/requests", "/api/chat", "/nowhere"])
def test_a_server_refuses_a_declared_length_before_the_body(server, path):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head(path, "Content-Type: application/json", "Content-Length: 80000000000"))
        # Not one byte of the body was sent.
        status, _, rest = line.recv(1 << 16).partition(b"\r\n")
    assert status == b"HTTP/1.1 413 Content Too Large"
    assert b"too_large" in rest


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_client_that_sends_the_body_anyway_reads_the_refusal(server):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head("/api/chat", f"Content-Length: {20 * len(MIB)}", "Accept: text/html"))
        for _ in range(20):
            line.sendall(MIB)
        found = answer(line)
    assert found.startswith(b"HTTP/1.1 413 ")
    assert found.endswith(b"Send less at a time.\n")
    assert found.count(b"HTTP/1.1") == 1


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_an_endless_chunked_body_is_cut_off_and_uses_no_memory(server):
    before = memory(server)
    chunk = b"%x\r\n%s\r\n" % (len(MIB), MIB)
    sent = 0
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head("/api/chat", "Transfer-Encoding: chunked"))
        # Reset, closed, or no longer read.
        with suppress(OSError):
            while sent < 500:
                line.sendall(chunk)
                sent += 1
    assert sent < 500
    assert memory(server) - before < 30
    # And everybody else is served.
    assert server.person("requester").get("/").status == 200


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_connection_stays_open_after_an_accepted_body(server):
    body = b'{"filler": "' + b"x" * 7_999_000 + b'"}'
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        for last in (False, True):
            lines = [f"Content-Length: {len(body)}", "Content-Type: application/json", *["Connection: close"] * last]
            line.sendall(head("/api/chat", *lines) + body)
        found = answer(line)
    assert found.count(b"HTTP/1.1 401 ") == 2
