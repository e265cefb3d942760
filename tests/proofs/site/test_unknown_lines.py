"""WebSockets to unknown addresses do not fill the log of a real server."""

from __future__ import annotations

import base64
import os
import socket

import pytest

from tests.support.processes.server import PATIENCE, Server
from tests.support.services import real_processes  # noqa: F401 - a fixture


def handshake(port: int, path: str, origin: str) -> str:
    """The first line of the answer."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        *([f"Origin: {origin}"] if origin else []),
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        return line.recv(4096).decode("latin-1").partition("\r\n")[0]


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_nobody_fills_the_log_of_a_real_server_with_it(tmp_path):
    with Server(tmp_path) as server:
        ours = [handshake(server.port, path, server.address) for path in ("/ws/nope/", "/ws/%ff/", "/%00", "/ws/a%0ab")]
        theirs = [handshake(server.port, "/ws/nope/", origin) for origin in ("", "null", "http://evil.example")]
        assert server.stop() == 0
        log = server.log.read_text()
    assert [line.split()[1] for line in ours] == ["101"] * 4
    assert [line.split()[1] for line in theirs] == ["403"] * 3
    assert ("Traceback" in log, "No route" in log, "ERROR" in log) == (False, False, False), log
