"""`pausepoint connect` with a real server, and with the versions of the coding agents on the path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pausepoint.connect.command import CANNOT

from tests.approvals.hooks.projects import connect, install, made_project, settings_of
from tests.support.machine import Remote
from tests.support.processes.server import until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

SOON = 120


@pytest.fixture(scope="module")
def asker(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def decider(server):
    return Remote(server, "approver", ("decide", "read"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    return made_project(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("agent", "says", "ends", "refused"),
    [
        ("claude-code", "2.1.196 (Claude Code)", 0, "2.1.197 is the oldest version that is supported"),
        ("claude-code", "1.9.999 (Claude Code)", 0, "is Claude Code 1.9.999, which may run calls that no one has"),
        ("claude-code", "2.1.197 (Claude Code)", 0, ""),
        ("claude-code", "10.0.0", 0, ""),
        ("claude-code", "unknown", 0, "cannot be read: it says 'unknown"),
        ("claude-code", "2.1.330", 1, "cannot be read: "),
        ("codex", "codex-cli 0.140.0", 0, "0.141.0 is the oldest version that is supported"),
        ("codex", "codex-cli 0.141.0", 0, ""),
        ("gemini-cli", "0.40.0", 0, "0.40.1 is the oldest version that is supported"),
        ("gemini-cli", "0.61.0", 0, ""),
        ("qwen-code", "0.22.9", 0, "0.23.0 is the oldest version that is supported"),
        ("qwen-code", "0.23.0", 0, ""),
        ("copilot", "GitHub Copilot CLI 1.0.69.", 0, "1.0.70 is the oldest version that is supported"),
        ("copilot", "GitHub Copilot CLI 1.0.70.", 0, ""),
        ("opencode", "1.14.99", 0, "1.15.0 is the oldest version that is supported"),
        ("opencode", "1.15.0", 0, ""),
    ],
)
def test_a_version_that_runs_calls_unasked_is_refused(project, capsys, agent, says, ends, refused):
    install(project, agent.removesuffix("-code").removesuffix("-cli"), says, ends)
    code, file = connect(project, agent=agent), settings_of(agent, project)
    assert (code, refused in capsys.readouterr().err, file.exists()) == (CANNOT if refused else 0, True, not refused)
    # Existing settings can be removed with every version.
    assert connect(project, "--remove", agent=agent) == 0


def pending(decider: Remote, title: str) -> dict[str, Any] | None:
    """The waiting request with this title, if there is one."""
    items = decider.send("GET", "/requests?status=pending").body["items"]
    return next((one for one in items if one["title"] == title), None)


def test_connecting_shows_the_change_writes_it_once_and_makes_a_request(asker, decider, tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (home / ".codex").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\ndependencies = ["langchain>=1"]\n')
    (project / "package.json").write_text('{"dependencies": {"ai": "^7"}}')
    settings = project / ".claude" / "settings.json"
    settings.write_text('{\n    "model": "opus"\n}\n')
    environment = os.environ | {
        "HOME": str(home),
        "PATH": "/nowhere",
        "PAUSEPOINT_URL": asker.server.address,
        "PAUSEPOINT_KEY": asker.key,
        "PYTHONPATH": str(ROOT / "clients" / "python"),
    }

    def connect(*arguments: str, said: str = "") -> tuple[int, str, str]:
        command = [sys.executable, "-m", "pausepoint.cli", "connect", *arguments]
        found = subprocess.run(
            command, cwd=project, env=environment, input=said, capture_output=True, text=True, check=False
        )
        return found.returncode, found.stdout, found.stderr

    before = settings.read_text()
    code, out, _ = connect("--no-test", said="n\n")
    assert (code, settings.read_text(), '+    "hooks": {' in out, "Nothing was written." in out) == (
        1,
        before,
        True,
        True,
    )
    # Hooks with a wrong key block every call, so it is tried before anything is written.
    environment["PAUSEPOINT_KEY"] = "pp_wrong"
    code, out, errors = connect("--yes")
    assert (code, out, "401 not_authenticated" in errors, settings.read_text()) == (2, "", True, before)
    environment["PAUSEPOINT_KEY"] = asker.key
    code, out, errors = connect("--yes", "--project", str(project / "absent"))
    assert (code, out, errors) == (2, "", f"pausepoint: There is no folder {project / 'absent'}.\n")
    code, out, errors = connect(said="y\n")
    assert (code, errors) == (0, "")
    assert "  LangChain (langchain.md):\n    from pausepoint import Desk\n" in out
    assert '    tools: gate(tools, { tools: ["refund"], threadId })\n' in out
    (line,) = [line for line in out.splitlines() if line.startswith("A test request waits in the Inbox ")]
    asked = line.split("/requests/")[1].strip("/")
    assert decider.send("POST", f"/requests/{asked}/decision", {"verdict": "respond", "answer": "Yes"}).status == 200
    written = settings.read_text()
    assert (json.loads(written)["model"], written.startswith('{\n    "model"')) == ("opus", True)
    waits = [sys.executable, "-m", "pausepoint.cli", "connect", "--yes", "--wait"]
    with subprocess.Popen(waits, cwd=project, env=environment, stdout=subprocess.PIPE, text=True) as waits_for_answer:
        request = until(lambda: pending(decider, "Is Pausepoint connected?"), "the test request arrives", SOON)
        decider.send("POST", f"/requests/{request['id']}/decision", {"verdict": "respond", "answer": "No"})
        out, _ = waits_for_answer.communicate(timeout=SOON)
    assert (settings.read_text(), "nothing to change" in out, out.splitlines()[-1]) == (written, True, "Answer: No")
    assert connect("--yes", "--remove")[0] == 0
    assert settings.read_text() == before
    settings.write_text("{ // mine\n}")
    code, _, errors = connect("--yes", "--no-test")
    assert (code, settings.read_text()) == (2, "{ // mine\n}")
    assert errors.startswith(f"{settings} is left as it is, because it is not JSON")
    assert {file.name for file in settings.parent.iterdir()} == {"settings.json"}
