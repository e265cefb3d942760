"""The how-to for agents elsewhere: every command in it is run verbatim, against a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.support.machine import Remote
from tests.support.processes.server import Server
from tests.support.root import ROOT
from tests.support.services import missing, real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

GUIDE = ROOT / "docs" / "how-to" / "ask-from-any-agent.md"
COMMANDS = [
    command for command in re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.S) if command.startswith("curl")
]


def run(part: str, **variables: str) -> str:
    """Run the one command of the guide with `part` in its URL in a shell; return its output."""
    (command,) = [each for each in COMMANDS if part in each]
    ended = subprocess.run(
        ["sh", "-c", command], env=os.environ | variables, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


def test_the_commands_of_the_guide_do_what_it_says(tmp_path):
    if shutil.which("curl") is None:
        missing("no curl", "apt-get install curl")
    with Server(tmp_path) as server:
        keys = {
            "DESK": server.address,
            "KEY": Remote(server, "requester", ("ask", "read")).key,
            "DECIDER": Remote(server, "approver", ("decide",)).key,
            "AUDITOR": Remote(server, "auditor", ("audit",)).key,
        }
        asked = json.loads(run("issueRefund", **keys))
        assert (asked["status"], asked["workflow_id"]) == ("pending", "refund-4711")
        assert json.loads(run("issueRefund", **keys)) == asked
        decided = json.loads(run("/decision", ID=asked["id"], **keys))
        assert json.loads(run("?wait=30", ID=asked["id"], **keys)) == decided
        made = decided["decision"]
        assert (made["verdict"], made["by"], made["comment"]) == (
            "approve",
            "API key remote of approver",
            "Seen the photos.",
        )
        digest = made["approved_digest"]
        assert json.loads(run("/result", ID=asked["id"], DIGEST=digest, **keys))["state"] == "succeeded"
        assert json.loads(run("/end", **keys))["state"] == "completed"
        assert json.loads(run("size-of-4711", **keys))["default_response"]["selected"] == ["M"]
        trip = json.loads(run("trip-4711", **keys))
        assert (trip["kind"], [message["role"] for message in trip["messages"]]) == ("form", ["user", "assistant"])
        events = [json.loads(line)["event"] for line in run("/audit", **keys).splitlines()]
        assert events == ["request.created", "request.decided", "tool.result"]
    assert len(COMMANDS) == 8
