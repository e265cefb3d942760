"""A coding agent as its user runs it: installed, connected with `pausepoint connect`, in a project of its own."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.contract.frameworks import environments
from tests.contract.frameworks.conftest import SOON, people
from tests.support.processes.server import Server, until
from tests.support.services import missing


class CodingAgent:
    """Runs a coding agent with a key of the demo's requester; the demo's approver answers it.

    `version` is a package of its package.json: `newest`, or `oldest`, the oldest version that is supported.
    """

    name = ""
    #: Its command, and where that is in the package.
    program_name = program_file = ""

    def __init__(self, desk: Server, folder: Path, version: str = "newest") -> None:
        if not environments.ready(self.name):
            missing(f"no environment for {self.name}", f"make contract NAME={self.name}")
        self.asker, self.approver, self.auditor = people(desk)
        self.desk = desk
        self.bin = environments.folder(self.name)
        self.project, self.home, programs = folder / "project", folder / "home", folder / "programs"
        for made in (self.project, self.home, programs):
            made.mkdir(exist_ok=True)
        (programs / self.program_name).symlink_to(environments.node_modules(self.name) / version / self.program_file)
        self.session = str(uuid.uuid4())
        self.environment = {
            "PATH": f"{self.bin / 'bin'}:{programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "PAUSEPOINT_URL": desk.address,
            "PAUSEPOINT_KEY": self.asker.key,
        }

    def connect(self, *arguments: str, address: str = "") -> str:
        """Run `pausepoint connect` in the project; return its output."""
        where = ["--url", address] if address else []
        command = [str(self.bin / "bin" / "pausepoint"), *where, "connect", "--yes", "--no-test", *arguments]
        return subprocess.run(
            command, cwd=self.project, env=self.environment, check=True, capture_output=True, text=True
        ).stdout

    def start(self, command: list[str], more: dict[str, str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        self.program = subprocess.Popen(
            command, cwd=self.project, env=self.environment | more, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        return self.program

    def ended(self) -> str:
        """Return the agent's output, once it is done."""
        out, errors = self.program.communicate(timeout=SOON)
        assert self.program.returncode == 0, (out[-2000:], errors[-4000:])
        return out

    def waiting(self, tool: str = "", command: str = "") -> dict[str, Any]:
        """The waiting request of this project for a tool, or with this command, as the approver sees it."""

        def found() -> dict[str, Any] | None:
            assert self.program.poll() is None, self.program.communicate()
            for one in self.approver.send("GET", "/requests?status=pending&limit=200").body["items"]:
                whole = self.whole(one)
                mine = (whole["context"] or {}).get("directory") == str(self.project)
                if mine and tool in {"", one["tool_name"]} and command in str(whole["input"].get("command", "")):
                    return whole
            return None

        request: dict[str, Any] = until(found, f"{tool} {command} waits", SOON)
        return request

    def whole(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.approver.send("GET", f"/requests/{request['id']}").body

    def decide(self, request: dict[str, Any], verdict: str, **said: Any) -> None:
        reply = self.approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": verdict, **said})
        assert reply.status == 200, reply

    def cancel(self, request: dict[str, Any], comment: str) -> None:
        reply = self.asker.send("POST", f"/requests/{request['id']}/cancel", {"comment": comment})
        assert reply.status == 200, reply

    def result(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the recorded result of an approved call, once there is one."""

        def found() -> list[str]:
            return self.auditor.send("GET", f"/audit?event=tool.result&request={request['id']}").body.splitlines()

        (line,) = until(found, "a result is recorded", SOON)
        data: dict[str, Any] = json.loads(line)["data"]
        return data

    def made(self, **filters: str) -> list[dict[str, Any]]:
        """The requests that this project has made."""
        query = urlencode({"limit": "200", **filters})
        found = [self.whole(one) for one in self.approver.send("GET", f"/requests?{query}").body["items"]]
        return [one for one in found if (one["context"] or {}).get("directory") == str(self.project)]

    def requests(self) -> int:
        """How many requests this project has made."""
        return len(self.made())

    def late(self) -> int:
        """Return the answer on approving the only request after its expiry."""
        (expired,) = self.made(status="expired")
        return self.approver.send("POST", f"/requests/{expired['id']}/decision", {"verdict": "approve"}).status

    @property
    def files(self) -> set[str]:
        return {file.name for file in self.project.iterdir() if not file.name.startswith(".")}
