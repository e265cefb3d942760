"""The example agents, as their READMEs start them: killed while a person is asked, started again, answered on the desk."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machine import Remote
from tests.support.processes.server import Server, until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

EXAMPLES = ROOT / "examples"
SOON = 120


class Agent:
    """One of the example programs, with a key of a requester."""

    def __init__(self, server: Server, folder: Path, *command: object) -> None:
        self.reader = Remote(server, "requester", ("ask", "read"))
        self.command = [sys.executable, *map(str, command)]
        self.folder = folder
        self.environment = os.environ | {
            "PAUSEPOINT_URL": server.address,
            "PAUSEPOINT_KEY": self.reader.key,
            "PYTHONPATH": str(ROOT / "clients" / "python"),
        }

    def start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe, text=True
        )

    def asked(self, title: str) -> str:
        """The id of the only request with this title, once it waits for a person."""

        def waiting() -> list[str]:
            found = self.reader.send("GET", "/requests?status=pending").body["items"]
            return [one["id"] for one in found if one["title"] == title]

        (only,) = until(waiting, f"{title!r} is asked", SOON)
        return only

    def started_twice(self, title: str) -> tuple[str, subprocess.Popen[str]]:
        """Killed when it asks for the first time, and started again: the request, and the program that now waits."""
        first = self.start()
        asked = self.asked(title)
        first.kill()
        first.communicate()
        return asked, self.start()


def said(program: subprocess.Popen[str]) -> list[str]:
    """The lines that it ends with."""
    out, errors = program.communicate(timeout=SOON)
    assert program.returncode == 0, errors
    return out.splitlines()


def test_the_plain_script_pays_what_was_approved_and_pays_it_once(tmp_path):
    folder = EXAMPLES / "plain-script"
    with Server(tmp_path) as server:
        agent = Agent(server, tmp_path, folder / "refunds.py", folder / "refunds.csv", "paid.csv")
        bob = server.person("approver")
        asked, program = agent.started_twice("Refund 120.00 for order 4711?")
        changed = {"input.order": "4711", "input.amount": "60"}
        assert bob.decide(asked, verdict="edit", **changed).status == 302
        bob.decide(agent.asked("Refund 900.00 for order 4713?"), verdict="reject", comment="It was signed for.")
        assert said(program) == [
            "4711: paid 60.00, approver said yes",
            "4712: paid 15.00, it is small",
            "4713: not paid, rejected by approver. It was signed for.",
        ]
        # Started once more it finds everything decided, and changes nothing.
        again = said(agent.start())
        paid = list(csv.reader((tmp_path / "paid.csv").open(newline="")))
        events = server.rows(
            "SELECT event FROM approvals_auditentry WHERE via IN ('api', 'rest') AND event != 'workflow.ended'"
        )
        states = server.rows("SELECT key, state FROM approvals_workflow WHERE source = 'api' ORDER BY key")
    assert (len(again), paid) == (3, [["4711", "60"], ["4712", "15.0"]])
    assert sorted(event for (event,) in events) == ["request.created", "request.created", "tool.result"]
    assert states == [("refund-4711", "completed"), ("refund-4713", "completed")]


def test_the_graphs_interrupts_are_answered_on_the_desk(tmp_path):
    script = EXAMPLES / "langgraph" / "triage.py"
    with Server(tmp_path) as server:
        agent = Agent(server, tmp_path, script, "Where is my money?", "--thread", "ticket-1")
        bob = server.person("approver")
        asked, program = agent.started_twice("Which team is this for?")
        assert bob.decide(asked, verdict="respond", choice=1).status == 302
        reply = agent.asked("Send this reply?")
        text = "We are sorry. Our billing team looks into it."
        assert text in bob.get(f"/requests/{reply}/").text
        bob.decide(reply, verdict="edit", **{"input.text": "You get it back today."})
        assert said(program) == ["billing: sent: You get it back today."]
        # A graph that has ended is not run again.
        assert said(agent.start()) == ["billing: sent: You get it back today."]
        requests = server.value("SELECT count(*) FROM approvals_approvalrequest WHERE requested_by_id IN "
                                "(SELECT id FROM auth_user WHERE username = 'requester') AND scope LIKE 'key:%'")  # fmt: skip
    assert requests == 2


@pytest.mark.parametrize("example", ["plain-script", "langgraph"])
def test_the_readmes_commands_name_what_is_there(example):
    readme = (EXAMPLES / example / "README.md").read_text()
    named = re.findall(r"(?:clients|examples)/[\w./-]+", readme)
    assert len(named) >= 2
    assert [path for path in named if not (ROOT / path).exists()] == []
