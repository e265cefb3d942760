"""For tools that run their input as code, or write files that others run, only an exact input can be granted openly."""

from __future__ import annotations

import pytest

from approvals.policy.grants import default_width
from approvals.states import Width

RUNNING = (
    *("Bash", "bash", "zsh", "powershell", "pwsh", "container.exec", "exec", "mcp__sandbox__run", "run", "execute"),
    *(
        "eval_js",
        "browser_eval",
        "python",
        "node",
        "perl",
        "ruby",
        "kubectl",
        "mcp__k8s__kubectl_apply",
        "docker",
        "sudo",
    ),
    *("Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "mcp__files__write_file", "create_file"),
    *("str_replace_based_edit_tool", "functions.exec", "run_command", "execute_code"),
)
OTHERS = (
    "refund",
    "sendEmail",
    "Read",
    "lookUp",
    "run_payroll",
    "evaluate_risk",
    "write_letter",
    "get_node",
    "trunk",
    "credit",
)


@pytest.mark.parametrize("tool", RUNNING)
def test_tools_that_run_what_they_are_told_are_known_by_their_names(tool):
    assert {default_width(name) for name in (tool, tool.upper(), tool.lower())} == {Width.INPUT}


@pytest.mark.parametrize("tool", OTHERS)
def test_other_tools_are_not(tool):
    assert default_width(tool) == Width.TOOL
