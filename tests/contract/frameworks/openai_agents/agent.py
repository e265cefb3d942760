"""An agent of the OpenAI Agents SDK with a scripted model: `agent.py THREAD`."""

from __future__ import annotations

import asyncio
import sys

import program
from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from pausepoint import AsyncDesk

THREAD = sys.argv[1]
set_tracing_disabled(True)
approved = program.REFUND | {"amount": 99}
agent = Agent(
    name="billing",
    instructions="Refund.",
    tools=[
        function_tool(program.refund, needs_approval=True),
        function_tool(program.drop, needs_approval=True),
    ],
    model=ScriptedModel(
        [
            [
                function_call("refund", program.REFUND, call_id=f"{THREAD}-refund"),
                function_call("drop", program.DROP, call_id=f"{THREAD}-drop"),
            ],
            # As it is told, it makes the call again as it was approved; once more, and people are asked again.
            [function_call("refund", approved, call_id=f"{THREAD}-again")],
            [function_call("refund", approved, call_id=f"{THREAD}-more")],
            [assistant_message("done")],
        ]
    ),
)
names = program.run_page("openai-agents.md", {"agent": agent, "desk": AsyncDesk(), "thread_id": THREAD})
result = asyncio.run(names["main"]())
program.tell(last=result.final_output)
