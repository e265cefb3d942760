"""A download to a slow client uses little memory of the server."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

import pytest

from tests.support.processes.server import Server
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

ENTRIES, SIZE = 4000, 25_000
FILL = f"""
from datetime import UTC, datetime
from approvals.models import AuditEntry
body = '{{"data":{{"filler":"' + "x" * {SIZE} + '"}}}}'
now = datetime.now(UTC)
AuditEntry.objects.bulk_create(
    [AuditEntry(at=now, last_seen_at=now, event="tool.result", scope="s", body=body, digest="") for _ in range({ENTRIES})],
    batch_size=200,
)
"""


def memory(server: Server) -> int:
    """The server's resident memory in megabytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024


def test_an_export_of_100_mb_to_a_slow_client_uses_little_memory_and_is_complete(tmp_path):
    with Server(tmp_path) as server:
        server.run(FILL)
        carol = server.person("auditor")
        before = memory(server)
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            cookies = "; ".join(f"{name}={value}" for name, value in carol.cookies.items())
            path = "/admin/approvals/auditentry/export.jsonl"
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nCookie: {cookies}\r\n\r\n"
            client.sendall(head.encode())
            highest, end = before, time.monotonic() + 4
            while time.monotonic() < end:
                highest = max(highest, memory(server))
                time.sleep(0.1)
            received = lines = 0
            while piece := client.recv(1 << 20):
                received += len(piece)
                lines += piece.count(b"\n")
                highest = max(highest, memory(server))
        print(f"{received / 1e6:.0f} MB exported; the server grew from {before} to {highest} MB")
        assert received > ENTRIES * SIZE
        assert lines > ENTRIES
        assert highest - before < 60
