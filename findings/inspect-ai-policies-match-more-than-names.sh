#!/usr/bin/env bash
# Inspect AI: the approver for a tool is also asked about tools whose names begin with that name, and a pattern is compared with the
# whole call, its arguments included. Guess: a full name is that tool alone, and patterns are compared with names. Fails if that has
# come true.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from inspect_ai import Task, eval
from inspect_ai.approval import Approval, ApprovalPolicy, approver
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolDef

asked = []


@approver
def clerk(name: str):
    async def approve(message, call, view, history):
        asked.append((call.function, name))
        return Approval(decision="approve")

    return approve


def tool(name: str):
    async def run(path: str) -> str:
        return "done"

    return ToolDef(run, name=name, description=name, parameters={"path": "A path"}).as_tool()


def approvers(policies, *calls):
    asked.clear()
    outputs = [ModelOutput.for_tool_call("mockllm/model", name, {"path": path}) for name, path in calls]
    outputs.append(ModelOutput.from_content("mockllm/model", "done"))
    for output in outputs:
        output.usage = ModelUsage()
    task = Task(dataset=[Sample(input="Go")], solver=[use_tools(tool("read"), tool("read_mail"), tool("find")), generate()])
    eval(task, model=get_model("mockllm/model", custom_outputs=outputs), approval=policies, display="none", log_dir="logs")
    return list(asked)


by_name = approvers(
    [ApprovalPolicy(clerk("first"), "read"), ApprovalPolicy(clerk("second"), "*")], ("read", "a"), ("read_mail", "a"), ("find", "a")
)
by_pattern = approvers([ApprovalPolicy(clerk("first"), "*mail*"), ApprovalPolicy(clerk("second"), "*")], ("find", "mail"), ("find", "a"))
print("inspect-ai", version("inspect-ai"), by_name, by_pattern)
raise SystemExit(
    by_name != [("read", "first"), ("read_mail", "first"), ("find", "second")]
    or by_pattern != [("find", "first"), ("find", "second")]
)
PYTHON
