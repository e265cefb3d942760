#!/usr/bin/env bash
# OpenAI Agents SDK: hooks of a run are told the id of a call of a function, and not that of a shell call.
# Guess: `on_tool_start` and `on_tool_end` always get a ToolContext with `tool_call_id`. Fails if that has come true.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai-agents==0.24.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from agents import Agent, RunHooks, Runner, ShellTool, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseFunctionShellToolCall

set_tracing_disabled(True)
told = {}


class Hooks(RunHooks):
    async def on_tool_start(self, context, agent, tool):
        told[tool.name] = getattr(context, "tool_call_id", None)


@function_tool
def add() -> str:
    return "2"


shell = ResponseFunctionShellToolCall.model_validate(
    {"type": "shell_call", "id": "s", "call_id": "call-shell", "action": {"commands": ["ls"]}, "status": "completed"}
)
agent = Agent(
    name="clerk",
    tools=[ShellTool(executor=lambda request: "listed"), add],
    model=ScriptedModel([[shell, function_call("add", {}, call_id="call-add")], [assistant_message("done")]]),
)
asyncio.run(Runner.run(agent, "Go", hooks=Hooks()))
print("openai-agents", version("openai-agents"), told)
raise SystemExit(told != {"shell": None, "add": "call-add"})
PYTHON
