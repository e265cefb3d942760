"""`pausepoint connect` and the versions of the coding agents on the path."""

from __future__ import annotations

import pytest
from pausepoint.connect.command import CANNOT

from tests.approvals.hooks.projects import connect, install, made_project, settings_of


@pytest.fixture
def project(tmp_path, monkeypatch):
    return made_project(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("agent", "says", "ends", "refused"),
    [
        ("claude-code", "2.1.196 (Claude Code)", 0, "2.1.197 is the oldest version that is supported"),
        ("claude-code", "1.9.999 (Claude Code)", 0, "is Claude Code 1.9.999, which may run calls that nobody has"),
        ("claude-code", "2.1.197 (Claude Code)", 0, ""),
        ("claude-code", "10.0.0", 0, ""),
        ("claude-code", "unknown", 0, "cannot be read: it says 'unknown"),
        ("claude-code", "2.1.330", 1, "cannot be read: "),
        ("codex", "codex-cli 0.140.0", 0, "0.141.0 is the oldest version that is supported"),
        ("codex", "codex-cli 0.141.0", 0, ""),
    ],
)
def test_a_version_that_runs_calls_unasked_is_refused(project, capsys, agent, says, ends, refused):
    install(project, agent.removesuffix("-code"), says, ends)
    code, file = connect(project, agent=agent), settings_of(agent, project)
    assert (code, refused in capsys.readouterr().err, file.exists()) == (CANNOT if refused else 0, True, not refused)
    # What is there can be removed with every version.
    assert connect(project, "--remove", agent=agent) == 0
