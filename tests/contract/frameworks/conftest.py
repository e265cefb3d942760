"""Agent frameworks as their users install them, each in an environment of its own, asking a real server."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks import environments
from tests.support.machine import Remote, Reply
from tests.support.processes import starting
from tests.support.processes.server import Server, until
from tests.support.services import missing

HERE = Path(__file__).parent
SHARED = str(HERE / "shared")
SOON = 120
#: What the programs of a framework import, where that takes long: seconds of CPU for each of them. They are forked from a process
#: that has imported it already. None of these starts a thread.
LIBRARIES = {
    "langchain": ("langchain.agents", "langgraph.checkpoint.sqlite.aio", "langgraph.prebuilt"),
    "llamaindex": ("workflows", "workflows.events"),
    "openai_agents": ("agents", "agents.testing"),
    "pydantic_ai": ("pydantic_ai", "pydantic_ai.models.function", "pydantic_ai.toolsets"),
}


class Program:
    """A program that was forked, and what it writes: the part of `subprocess.Popen` that these tests use."""

    def __init__(self, name: str, words: Sequence[str], env: Mapping[str, str]) -> None:
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - `communicate` closes it
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        folder = Path(words[0]).parent
        self._process = starting.start(
            words, env=env, folder=folder, stdout=self._out, stderr=self._errors, forker=forker(name)
        )

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    def poll(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return what it has written to each, once it has ended."""
        self._process.wait(timeout)
        with self._out as out, self._errors as errors:
            out.seek(0)
            errors.seek(0)
            return out.read().decode(), errors.read().decode()


Started = Program | subprocess.Popen[str]


@functools.cache
def forker(name: str) -> socket.socket:
    """What forks the programs of a framework, for this test process."""
    return starting.forks_after(str(environments.python(name)), *LIBRARIES[name], PYTHONPATH=SHARED)


def started(name: str, command: Sequence[str], env: Mapping[str, str]) -> Started:
    """Start a program of a framework."""
    if name in LIBRARIES and command[0].endswith("python"):
        return Program(name, command[1:], env)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


class Agent:
    """A program in the environment of a framework, with a key of the demo's requester; the demo's approver answers it."""

    def __init__(self, server: Server, name: str) -> None:
        self.name = name
        self.asker, self.approver, self.auditor = people(server)
        self.thread = uuid.uuid4().hex
        # Also the model's ids: those of a real model are unique.
        self.command = [str(environments.python(name)), str(HERE / name / "agent.py"), self.thread]
        self.environment = os.environ | {
            "PAUSEPOINT_URL": server.address,
            "PAUSEPOINT_KEY": self.asker.key,
            # Not the folder above it, whose packages have the names of the frameworks.
            "PYTHONPATH": SHARED,
        }

    def begin_thread(self) -> None:
        """From now on, start the program with a new thread."""
        old = self.thread
        self.thread = uuid.uuid4().hex
        self.command = [self.thread if word == old else word for word in self.command]

    def start(self) -> Started:
        self.program = started(self.name, self.command, self.environment)
        return self.program

    def every_waiting(self) -> list[dict[str, Any]]:
        """The waiting requests of this program, newest first."""
        items = self.approver.send("GET", "/requests?status=pending").body["items"]
        return [one for one in items if self.thread in f"{one['tool_call_id']} {one['thread_id']}"]

    def waiting(self, how_many: int) -> dict[str, dict[str, Any]]:
        """The waiting requests by the name of their tool, or by their title, once there are so many."""

        def found() -> list[dict[str, Any]]:
            assert self.program.poll() is None, self.program.communicate()[1][-4000:]
            mine = self.every_waiting()
            return mine if len(mine) == how_many else []

        requests = until(found, f"{how_many} requests wait", SOON)
        return {one["tool_name"] or one["title"]: one for one in requests}

    def killed_while_asking(self, how_many: int) -> dict[str, dict[str, Any]]:
        """Start the program and kill it when so many requests wait; return them, as `waiting` does."""
        program = self.start()
        waiting = self.waiting(how_many)
        program.kill()
        program.communicate()
        return waiting

    def decide(self, request: dict[str, Any], verdict: str, **said: Any) -> None:
        reply = self.try_to_decide(request, verdict, **said)
        assert reply.status == 200, reply

    def try_to_decide(self, request: dict[str, Any], verdict: str, **said: Any) -> Reply:
        return self.approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": verdict, **said})

    def refuse_a_bad_edit(self, request: dict[str, Any]) -> None:
        """Check that an edited input which the tool would not take is refused, because the request has the tool's schema."""
        reply = self.try_to_decide(request, "edit", edited_input={"order": "4711", "amount": "lots"})
        assert (reply.status, list(reply.body["errors"])) == (422, ["edited_input.amount"])

    def withdraw(self, request: dict[str, Any], comment: str) -> None:
        reply = self.asker.send("POST", f"/requests/{request['id']}/cancel", {"comment": comment})
        assert reply.status == 200, reply

    def let_expire(self, *requests: dict[str, Any]) -> None:
        """Move the deadlines of these requests into the past, and wait until the server has ended them."""
        for request in requests:
            self._set_back("approvals_approvalrequest SET deadline_at = ? WHERE id = ?", request)
        until(lambda: {self.whole(request)["status"] for request in requests} == {"expired"}, "they expire", SOON)

    def _set_back(self, what: str, request: dict[str, Any]) -> None:
        """Move a time of a request into the past, without a process that would have to load Django."""
        self.asker.server.rows(f"UPDATE {what}", "2020-01-01 00:00:00", request["id"].replace("-", ""))

    def lose_lease(self, request: dict[str, Any]) -> None:
        """End the lease of a process that was killed, in place of waiting until it has expired."""
        self._set_back("approvals_resumption SET leased_until = ? WHERE request_id = ?", request)
        until(lambda: "resume.lost" in self.resumes(request), "its lease is lost", SOON)

    def resumes(self, request: dict[str, Any]) -> list[str]:
        """Return the audit events of a request's resumption."""
        lines = self.auditor.send("GET", f"/audit?request={request['id']}").body.splitlines()
        events = [json.loads(line)["event"] for line in lines]
        return [event for event in events if event.startswith("resume.")]

    def whole(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.approver.send("GET", f"/requests/{request['id']}").body

    def result(self, request: dict[str, Any]) -> Any:
        """Return the result of an approved call from the audit log."""
        return self.results(request)[0]["output"]

    def failure(self, request: dict[str, Any]) -> str:
        """The error of an approved call that has failed."""
        assert [result["state"] for result in self.results(request)] == ["failed"]
        return str(self.whole(request)["result"]["error"])

    def results(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the recorded result of an approved call: just one, however often its agent was started."""
        lines = self.auditor.send("GET", f"/audit?event=tool.result&request={request['id']}").body.splitlines()
        found = [json.loads(line)["data"] for line in lines]
        assert len(found) == 1, found
        return found


@functools.cache
def people(server: Server) -> tuple[Remote, Remote, Remote]:
    """A requester, a decider and a reader of the audit log."""
    return (
        Remote(server, "requester", ("ask", "read")),
        Remote(server, "approver", ("decide", "grant", "read")),
        Remote(server, "auditor", ("audit",)),
    )


def told(program: Started) -> dict[str, Any]:
    """Return the program's own lines from the output of its framework."""
    out, errors = program.communicate(timeout=SOON)
    assert program.returncode == 0, errors[-4000:]
    (line,) = (line for line in out.splitlines() if line.startswith("TOLD "))
    found: dict[str, Any] = json.loads(line.removeprefix("TOLD "))
    return found


def observed(program: Path) -> dict[str, Any]:
    """Run a program of a framework without a desk, and return its own line."""
    name = program.parent.name
    if environments.LOWEST:
        pytest.skip("The page is about the newest version.")
    if not environments.ready(name):
        missing(f"no environment for {name}", f"make contract NAME={name}")
    return told(started(name, [str(environments.python(name)), str(program)], os.environ | {"PYTHONPATH": SHARED}))


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("frameworks")) as running:
        yield running


@pytest.fixture
def agent(request: pytest.FixtureRequest, desk: Server) -> Agent:
    """The program beside the test's module."""
    name = request.path.parent.name
    if not environments.ready(name):
        missing(f"no environment for {name}", f"make contract NAME={name}")
    return Agent(desk, name)
