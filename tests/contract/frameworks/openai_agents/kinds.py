"""Each kind of call that the SDK can pause for, one after the other: `kinds.py THREAD FOLDER [fail]`.

Calls that run leave a line in FOLDER/ran. With `fail`, the model is gone after each call.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import program
import resumers
from agents import (
    Agent,
    ApplyPatchTool,
    CustomTool,
    HostedMCPTool,
    ShellTool,
    function_tool,
    set_tracing_disabled,
    tool_namespace,
)
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types import responses
from openai.types.responses.response_output_item import McpApprovalRequest, McpCall
from pausepoint import AsyncDesk
from pausepoint.openai_agents import run_with_desk

THREAD = sys.argv[1]
FAILS = "fail" in sys.argv
set_tracing_disabled(True)


def call_id(name: str) -> str:
    return f"{THREAD}-{name}"


async def run_shell(request: Any) -> str:
    resumers.ran(" ".join(request.data.action.commands))
    return "listed"


class Editor:
    def create_file(self, operation: Any) -> None:
        resumers.ran(f"create {operation.path} {operation.diff}")

    def update_file(self, operation: Any) -> None:
        resumers.ran(f"update {operation.path} {operation.diff}")

    def delete_file(self, operation: Any) -> None:
        resumers.ran(f"delete {operation.path}")
        raise OSError("It is in use.")


async def run_sql(_context: Any, text: str) -> str:
    resumers.ran(text)
    return "1 row"


refund = function_tool(resumers.refund, needs_approval=True)
inner = Agent(
    name="clerk",
    tools=[refund],
    model=ScriptedModel(
        [[function_call("refund", program.REFUND, call_id=call_id("inner"))], [assistant_message("paid")]]
    ),
)
tools = [
    ShellTool(executor=run_shell, needs_approval=True),
    ApplyPatchTool(editor=Editor(), needs_approval=True),
    CustomTool(name="sql", description="Run SQL.", on_invoke_tool=run_sql, needs_approval=True),
    HostedMCPTool(
        tool_config={
            "type": "mcp",
            "server_label": "bank",
            "server_url": "https://bank.invalid",
            "require_approval": "always",
        }
    ),
    refund,
    inner.as_tool("clerk", "Ask the clerk."),
    *tool_namespace(name="crm", description="CRM.", tools=[function_tool(resumers.drop, needs_approval=True)]),
]


def shell(name: str, **action: Any) -> Any:
    return responses.ResponseFunctionShellToolCall.model_validate(
        {"type": "shell_call", "id": name, "call_id": call_id(name), "action": action, "status": "completed"}
    )


def patch(name: str, **operation: Any) -> Any:
    return responses.ResponseApplyPatchToolCall.model_validate(
        {
            "type": "apply_patch_call",
            "id": name,
            "call_id": call_id(name),
            "operation": operation,
            "status": "completed",
        }
    )


def custom(name: str, text: str) -> Any:
    return responses.ResponseCustomToolCall(type="custom_tool_call", call_id=call_id(name), name="sql", input=text)


def raw_call(name: str, arguments: str) -> Any:
    return responses.ResponseFunctionToolCall(
        type="function_call", id=name, call_id=call_id(name), name="refund", arguments=arguments
    )


approval = McpApprovalRequest(
    type="mcp_approval_request", id=call_id("mcp"), name="pay", server_label="bank", arguments='{"amount": 5}'
)
#: The provider's message after it has run the call.
paid = McpCall(
    type="mcp_call",
    id="paid",
    name="pay",
    server_label="bank",
    arguments='{"amount": 5}',
    output="paid 5",
    approval_request_id=call_id("mcp"),
)
drop = responses.ResponseFunctionToolCall(
    type="function_call",
    id="drop",
    call_id=call_id("drop"),
    name="drop",
    namespace="crm",
    arguments='{"table": "orders"}',
)
#: The model's first message, and the one after the call.
STEPS: dict[str, tuple[list[Any], list[Any]]] = {
    "shell": ([shell("shell", commands=["ls", "-a"], timeout_ms=50)], []),
    "patch": ([patch("patch", type="update_file", path="a.txt", diff="+b")], []),
    "delete": ([patch("delete", type="delete_file", path="a.txt")], []),
    "custom": ([custom("custom", "DELETE FROM orders")], []),
    "mcp": ([approval], [paid]),
    "inner": ([function_call("clerk", {"input": "Refund"}, call_id=call_id("clerk"))], []),
    "namespace": ([drop], []),
    "broken": ([raw_call("broken", '{"order": "4711", "amount": ')], []),
    "doubled": ([raw_call("doubled", '{"order": "4711", "amount": 1, "amount": 900}')], []),
    "nan": ([raw_call("nan", '{"order": "4711", "amount": NaN}')], []),
}


async def main() -> dict[str, Any]:
    found = {}
    async with AsyncDesk() as desk:
        for name, (first, then) in STEPS.items():
            script = [first] if FAILS else [first, [*then, assistant_message("done")]]
            agent = Agent(name="billing", tools=tools, model=ScriptedModel(script))
            try:
                result = await run_with_desk(agent, "Go", desk, thread_id=THREAD)
                outputs = [
                    item["output"] for item in result.to_input_list() if str(item.get("type")).endswith("_output")
                ]
                found[name] = outputs
            except Exception as error:
                found[name] = [type(error).__name__]
    return found


program.tell(found=asyncio.run(main()))
