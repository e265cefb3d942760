"""Tests of stored runs: a program that pauses and ends, and others that resume it, many at once or after each other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.contract.frameworks.conftest import HERE, SOON, Agent, told
from tests.support.processes.server import Server, until

FINISHED = [("finished", True)]


class Stored:
    """The programs of one stored run, which keep files in `folder`."""

    def __init__(self, agent: Agent, server: Server, folder: Path) -> None:
        self.agent, self.server, self.folder = agent, server, folder
        python, program, self.thread = agent.command
        self.program = [python, str(Path(program).parent / "stored.py"), self.thread, str(folder)]
        agent.environment["PYTHONPATH"] = str(HERE / "shared")

    def start(self, mode: str, how_many: int = 1, **environment: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [*self.program, mode, str(how_many), *self.more(mode)]
        started = subprocess.Popen(
            command, env=self.agent.environment | environment, stdout=pipe, stderr=pipe, text=True
        )
        self.agent.program = started
        return started

    def more(self, mode: str) -> list[str]:
        """The id of a request, by which frameworks without threads resume."""
        return [self.waiting_id] if mode == "resume" else []

    waiting_id = ""

    def begin(self, **environment: str) -> dict[str, dict[str, Any]]:
        """Run the program until it has asked and ended; return the waiting requests by tool or title."""
        found = told(self.start("begin", **environment))
        assert (found["status"], self.ran()) == ("waiting", [])
        mine = self.agent.every_waiting()
        self.waiting_id = mine[0]["id"]
        return {one["tool_name"] or one["title"]: one for one in mine}

    def resume(self, programs: int = 1, threads: int = 1, **environment: str) -> list[dict[str, Any]]:
        """Resume in so many programs with so many threads each, at the same moment; return what each thread got."""
        started = [self.start("resume", threads, **environment) for _ in range(programs)]
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n", one.communicate()[1][-4000:]
        (self.folder / "go").touch()
        return [found for one in started for found in told(one)["found"]]

    def resume_on_a_loop(self) -> list[dict[str, Any]]:
        return list(told(self.start("resume", LOOP="1"))["found"])

    def killed_in(self, where: str) -> None:
        """Resume with a lease of a second, and kill the program with SIGKILL when it is in the tool or in the model."""
        program = self.start("resume", HANG=where, LEASE="1")
        assert program.stdout is not None
        program.stdout.readline()
        (self.folder / "go").touch()
        until(lambda: f"{where} waits" in self.ran(), f"the program hangs in the {where}", SOON)
        program.kill()
        program.communicate()

    def ran(self) -> list[str]:
        """Return the calls that have run, in any process."""
        file = self.folder / "ran"
        return file.read_text().splitlines() if file.exists() else []

    def record(self, request: dict[str, Any]) -> list[str]:
        """The events of a resume in the audit log."""
        return self.agent.resumes(request)

    def page(self, request: dict[str, Any]) -> str:
        return self.server.person("approver").get(f"/requests/{request['id']}/").text


def check_one_ran(found: list[dict[str, Any]]) -> None:
    """Check that one resumer has run it, and that the others were told that another one did."""
    assert sorted((one["status"], one["ran"]) for one in found if one["ran"]) == FINISHED
    others = [one for one in found if not one["ran"]]
    assert {one["status"] for one in others} <= {"taken", "finished"}
    assert all(one["by"].startswith("API key remote of requester (") for one in others if one["status"] == "taken")
