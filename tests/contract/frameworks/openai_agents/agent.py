"""An agent of the OpenAI Agents SDK with a scripted model: `agent.py THREAD [stream | strict | handled]`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import program
from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from pausepoint import AsyncDesk

THREAD = sys.argv[1]
set_tracing_disabled(True)
MODE = sys.argv[2] if len(sys.argv) > 2 else ""
approved = program.REFUND | {"amount": 99}
#: How a tool says that it has failed: by an error that ends the run, by its own words, or by those of the SDK.
FAILS: dict[str, dict[str, Any]] = {
    "strict": {"failure_error_function": None},
    "handled": {"failure_error_function": lambda context, error: f"Sorry: {error}"},
}
AGAIN = [[function_call("refund", approved, call_id=f"{THREAD}-{name}")] for name in ("again", "more")]


def message(calls: list[program.Call]) -> list[Any]:
    # The SDK needs an id.
    return [function_call(call.name, call.input, call_id=call.id or None) for call in calls]


async def asks(_context: Any, _arguments: dict[str, Any], _call_id: str) -> bool:
    return program.asks()


ASKS = asks if "CALM" in os.environ else True
SCRIPT = [
    [
        function_call("refund", program.REFUND, call_id=f"{THREAD}-refund"),
        function_call("drop", program.DROP, call_id=f"{THREAD}-drop"),
    ],
    # As it is told, it makes the call again as it was approved; once more, and people are asked again.
    *AGAIN,
]
if "SCRIPT" in os.environ:
    SCRIPT = [message(calls) for calls in program.messages(THREAD)]
agent = Agent(
    name="billing",
    instructions="Refund.",
    tools=[
        function_tool(program.refund, needs_approval=ASKS),
        function_tool(program.drop, needs_approval=ASKS, **FAILS.get(MODE, {})),
        *map(function_tool, program.FREE),
    ],
    model=ScriptedModel([*SCRIPT, [assistant_message("done")]]),
)
names = program.run_page("openai-agents.md", {"agent": agent, "desk": AsyncDesk(), "thread_id": THREAD})
if MODE == "stream":
    result, events = asyncio.run(names["stream"]())
else:
    result, events = asyncio.run(names["main"]()), []
items = [item for item in result.to_input_list() if item.get("type") == "function_call_output"]
program.tell(
    [item["output"] for item in items],
    last=result.final_output,
    outputs={item["call_id"].removeprefix(f"{THREAD}-"): item["output"] for item in items},
    events=[event.name for event in events if event.type == "run_item_stream_event"],
)
