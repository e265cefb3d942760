"""The official client of MCP in a process of its own, and the people who answer it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import uuid
from pathlib import Path
from typing import Any

from tests.contract.frameworks import environments
from tests.support.machine import Remote
from tests.support.processes.server import Server, until

PROGRAM = Path(__file__).parent / "client.py"
SOON = 60.0


class Program:
    """The official client in a process of its own."""

    def __init__(self, mode: str, key: str, *addresses: str) -> None:
        command = [environments.python("mcp"), PROGRAM, mode, key, *addresses]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=os.environ)
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.happened: list[dict[str, Any]] = []
        self.about = self.hear("version")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def start(self, tool: str, arguments: dict[str, Any], **more: Any) -> str:
        """Begin a call; the name that its result has."""
        name = uuid.uuid4().hex
        assert self.process.stdin is not None
        print(
            json.dumps({"name": name, "tool": tool, "arguments": arguments, **more}),
            file=self.process.stdin,
            flush=True,
        )
        return name

    def hear(self, what: str, value: Any = None) -> dict[str, Any]:
        """The next line that has this member, with this value if one is given; the lines before it have happened."""
        line: dict[str, Any] = {}
        while what not in line or value not in {None, line[what]}:
            self.happened.append(line)
            line = json.loads(self.lines.get(timeout=SOON))
        return line

    def result(self, name: str) -> dict[str, Any]:
        """The result of a call; those of other calls may have come before it."""
        earlier = [line for line in self.happened if line.get("name") == name]
        if not earlier:
            earlier = [self.hear("name", name)]
            self.happened += earlier
        return earlier[0]

    def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self.result(self.start(tool, arguments, **more))

    def outcome(self, name: str) -> dict[str, Any]:
        """Check the request of a call while it waits, as a model is told to; return its end."""
        found: dict[str, Any] = self.result(name)["structured"]
        while found["status"] == "pending":
            found = self.call("check_request", {"request_id": found["request_id"]})["structured"]
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class People:
    """The demo's people: one asks, one decides, one reads the audit log."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.asker = Remote(server, "requester", ("ask", "read"))
        self.approver = Remote(server, "approver", ("decide", "read"))
        self.auditor = Remote(server, "auditor", ("audit",))
        self.before = self.stored()

    def waiting(self, text: str) -> dict[str, Any]:
        """The only waiting request with this text in its title, once there is one."""

        def found() -> dict[str, Any] | None:
            items = self.approver.send("GET", "/requests?status=pending").body["items"]
            mine = [item for item in items if text in item["title"]]
            assert len(mine) < 2
            return mine[0] if mine else None

        request = until(found, f"{text} waits", SOON)
        assert request is not None
        return request

    def decide(self, request: dict[str, Any], verdict: str, **said: Any) -> None:
        reply = self.approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": verdict, **said})
        assert reply.status == 200, reply

    def let_expire(self, request: dict[str, Any]) -> None:
        self.server.run(
            "from approvals.models import ApprovalRequest\n"
            f"ApprovalRequest.objects.filter(pk='{request['id']}').update(deadline_at='2020-01-01T00:00:00Z')"
        )

    def stored(self) -> int:
        return int(self.server.value("SELECT count(*) FROM approvals_approvalrequest"))

    @property
    def asked(self) -> int:
        """How many requests were made since these people came; the demo has some of its own."""
        return self.stored() - self.before
