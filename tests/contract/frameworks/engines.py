"""Durable engines from their packages, with the code of the guides: each decision counts once, whatever is lost or killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.contract.frameworks import environments
from tests.contract.frameworks.conftest import HERE, SOON, people
from tests.support.processes.server import Server, until
from tests.support.receiver import Behaviour, Got, Receiver, die, document
from tests.support.root import ROOT
from tests.support.services import ROUNDS, missing

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
#: Runs of two questions each; every first answer to a question loses its response.
RUNS = 2 * ROUNDS
#: Kills of the desk while a decision is on its way.
KILLS = ROUNDS


class EngineProgram:
    """An engine with a worker that runs the code of a guide: the program `agent.py` beside the test."""

    def __init__(self, name: str, server: Server, folder: Path, **more: str) -> None:
        if not environments.ready(name):
            missing(f"no environment for {name}", f"make contract NAME={name}")
        (code,) = PYTHON.findall((ROOT / "docs" / "how-to" / f"answer-{name}.md").read_text())
        (folder / "guide.py").write_text(code)
        self.asker, self.approver, self.auditor = people(server)
        settings = {"PAUSEPOINT_URL": server.address, "PAUSEPOINT_KEY": self.asker.key, "PYTHONPATH": str(folder)}
        self.log = folder / "engine.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(environments.python(name)), str(HERE / name / "agent.py"), str(folder)],
                env=os.environ | settings | more,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.results: dict[str, Any] = {}
        self.urls: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        until(lambda: self.urls or self._ended(), f"{name} serves", 2 * SOON)

    def _ended(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-4000:]
        return False

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, _space, rest = line.partition(" ")
            if word == "READY":
                self.urls.append(rest.strip())
            if word == "DONE":
                run, result = json.loads(rest)
                self.results[run] = result

    def begin(self, run: str, *orders: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([run, orders]) + "\n")
        self.process.stdin.flush()

    def asked(self, run: str, order: str) -> dict[str, Any]:
        """The waiting request of a run about an order."""

        def waiting() -> list[dict[str, Any]]:
            self._ended()
            items = self.approver.send("GET", "/requests?status=pending&limit=100").body["items"]
            titles = (f"Refund order {run}-{order}?",)
            return [one for one in items if one["title"] in titles]

        return until(waiting, f"{run} asks about {order}", SOON)[0]

    def decide(self, request: Mapping[str, Any], verdict: str) -> int:
        return self.approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": verdict}).status

    def ended(self, run: str) -> Any:
        until(lambda: run in self.results or self._ended(), f"{run} ends", SOON)
        return self.results[run]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()


class Lossy:
    """Stands before an engine. It loses the first response to each answer, or holds it until the desk is killed."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream)
        self.answered: list[bytes] = []
        self.loses = True
        self.holds = False
        self.held, self.released = threading.Event(), threading.Event()

    def __call__(self, got: Got) -> Behaviour:
        connection = http.client.HTTPConnection(self.upstream.netloc, timeout=SOON)
        headers = {name: value for name, value in got.headers.items() if name not in {"host", "connection"}}
        with contextlib.closing(connection):
            connection.request("POST" if got.body else "GET", got.path, got.body or None, headers)
            response = connection.getresponse()
            content = response.read().decode()
        if not self.loses or not got.body or got.body in self.answered:
            return document(response.status, content)
        self.answered.append(got.body)
        if self.holds:
            self.held.set()
            self.released.wait(SOON)
        return die


@contextlib.contextmanager
def connected(server: Server, engine: EngineProgram, name: str, **fields: str) -> Iterator[Lossy]:
    """Let an administrator add the engine, behind a network that loses responses."""
    lossy = Lossy(engine.urls[0])
    with Receiver(lossy, serves=True) as proxy:
        admin = server.person("admin")
        form = {"name": f"prod-{name}", "url": proxy.url(lossy.upstream.path), "private": "on", **fields}
        added = admin.post("/settings/engines/", **form)
        assert added.status == 302, added.text
        pk = server.value("SELECT id FROM approvals_engineconnection WHERE name = ?", form["name"])
        lossy.loses = False
        assert admin.post(f"/settings/engines/{pk}/try/").status == 302
        page = admin.get(f"/settings/engines/{pk}/").text
        assert re.findall(r"The engine [^<]+", page)[:1] == ["The engine answers."]
        lossy.loses = True
        yield lossy


def check_lost_responses(engine: EngineProgram, lossy: Lossy) -> list[str]:
    """Lose the response of each first answer, and check that no answer counts twice or at the next question; return the runs."""
    runs = [f"run-{number}-{os.getpid()}" for number in range(RUNS)]
    for run in runs:
        engine.begin(run, f"{run}-1", f"{run}-2")
    for order, verdict in (("1", "approve"), ("2", "reject")):
        for run in runs:
            request = engine.asked(run, order)
            assert engine.decide(request, verdict) == 200
            # A second decision is refused before any engine hears of it.
            assert engine.decide(request, "reject" if verdict == "approve" else "approve") == 409
    assert [engine.ended(run) for run in runs] == [["approve", "reject"]] * len(runs)
    assert len(lossy.answered) == 2 * len(runs)
    return runs


def check_kills(server: Server, engine: EngineProgram, lossy: Lossy) -> None:
    """Kill the desk when the engine has the decision and the desk does not know it yet."""
    for number in range(KILLS):
        run = f"kill-{number}-{os.getpid()}"
        engine.begin(run, f"{run}-1", f"{run}-2")
        lossy.holds = True
        lossy.held.clear()
        lossy.released.clear()
        assert engine.decide(engine.asked(run, "1"), "approve") == 200
        assert lossy.held.wait(SOON)
        server.kill()
        lossy.holds = False
        lossy.released.set()
        server.start()
        # In place of waiting until the lease of the dead process ends.
        server.rows(
            "UPDATE approvals_outboxevent SET next_attempt_at = ? WHERE delivered_at IS NULL", "2020-01-01 00:00:00"
        )
        assert engine.decide(engine.asked(run, "2"), "reject") == 200
        assert engine.ended(run) == ["approve", "reject"]
    until(lambda: not waiting_deliveries(server), "each decision is taken", SOON)


def waiting_deliveries(server: Server) -> int:
    undone = "channel = 'engine' AND delivered_at IS NULL AND dead_at IS NULL"
    return int(server.value(f"SELECT count(*) FROM approvals_outboxevent WHERE {undone}"))


def check_late(engine: EngineProgram, name: str, waiting_id: str, reason: str) -> None:
    """Decide a request whose workflow no longer waits: people are told on its page and in the record."""
    body = {"kind": "approval", "title": "Too late?", "callback": {"to": f"prod-{name}", "id": waiting_id}}
    asked = engine.asker.send("POST", "/requests", body)
    assert asked.status == 201, asked
    assert engine.decide(asked.body, "approve") == 200
    told = until(lambda: refusals(engine, asked.body), "people are told", SOON)
    assert [(entry["data"]["engine"], entry["data"]["reason"]) for entry in told] == [(f"prod-{name}", reason)]


def refusals(engine: EngineProgram, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    lines = engine.auditor.send("GET", f"/audit?event=callback.not_taken&request={request['id']}").body.splitlines()
    return [json.loads(line) for line in lines]
