"""Measure the resident memory of the server while it exports the audit log, which should not grow with its length.

    .venv/bin/python -m benchmarks.audit_export [ENTRIES [FORMAT]]

A real server on SQLite with so many entries (1,000,000 unless said otherwise) is asked for all of them over REST, as JSON lines
or in another format (`ocsf`).
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

from tests.support.processes.server import Server

ENTRIES = 1_000_000
#: With DEBUG, Django keeps the last 9,000 queries of every connection.
NO_LOG = "from django.db.backends.base.base import BaseDatabaseWrapper as Wrapper; Wrapper.queries_limit = 1"
COLUMNS = (
    "at, event, scope, run_id, thread_id, agent, tool_name, tool_call_id, actor_name, via, body, digest, retry_count, "
    "last_seen_at"
)
FILL = """
from django.db import connection
body = '{"data":{"state":"succeeded","input":{"amount":250,"orderId":"4711"},"output":{"filler":"' + "x" * 300 + '"}}}'
connection.cursor().execute('''INSERT INTO approvals_auditentry (COLUMNS)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)
    SELECT '2026-11-21 12:00:00', 'tool.result', 'chat:' || (i %% 1000), 'run-' || (i / 10), 'thread', 'support', 'issueRefund',
        'call-' || i, 'bob', 'dashboard', %s, 'sha256:0', 0, '2026-11-21 12:00:00' FROM n''', [ENTRIES, body])
"""
KEY = """
from django.contrib.auth.models import User; from approvals.administration.keys.actions import create_key
_, key = create_key(User.objects.get(username="auditor"), name="benchmark", scopes=("audit",))
open({file!r}, "w").write(key)
"""


def memory(server: Server) -> float:
    """Return the resident memory of the server in megabytes."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    kind = sys.argv[2] if len(sys.argv) > 2 else "jsonl"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "key"
        with Server(Path(folder), prepare=NO_LOG) as server:
            fill = FILL.replace("COLUMNS", COLUMNS).replace("ENTRIES", str(entries))
            server.run(fill + KEY.format(file=str(file)), seconds=3600)
            connection = HTTPConnection("127.0.0.1", server.port)
            print(
                f"{'entries':>12}{'megabytes':>12}{'seconds':>12}{'server RSS, MB':>18}"
            )
            began, read, lines, shown = time.monotonic(), 0, 0, 0
            print(f"{0:>12,}{0:>12,.0f}{0:>12.1f}{memory(server):>18.1f}")
            connection.request(
                "GET",
                f"/api/v1/audit?format={kind}",
                headers={"Authorization": f"Bearer {file.read_text()}"},
            )
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            while piece := answer.read(1 << 20):
                read, lines = read + len(piece), lines + piece.count(b"\n")
                if lines >= shown + entries / 10:
                    shown = lines
                    print(
                        f"{lines:>12,}{read / 1e6:>12,.0f}{time.monotonic() - began:>12.1f}{memory(server):>18.1f}"
                    )
                    sys.stdout.flush()
            assert lines >= entries, lines


if __name__ == "__main__":
    main()
