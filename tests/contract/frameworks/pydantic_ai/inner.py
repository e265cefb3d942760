"""An agent whose tool runs another agent: `inner.py THREAD with|without`, whether that one has the capability, too."""

from __future__ import annotations

import sys
from typing import Any

import program
from pausepoint import AsyncDesk
from pausepoint.pydantic_ai import HandleDeferredToolCalls
from pydantic_ai import Agent, RunContext, Tool, ToolReturnPart
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

THREAD, MODE = sys.argv[1:3]


def model(name: str, args: dict[str, Any]) -> FunctionModel:
    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(name, args, f"{THREAD}-{name}")])

    return FunctionModel(respond)


asks = HandleDeferredToolCalls(AsyncDesk())
clerk = Agent(
    model("refund", program.REFUND),
    tools=[Tool(program.refund, requires_approval=True)],
    capabilities=[asks] if MODE == "with" else [],
)


async def ask_the_clerk(ctx: RunContext[Any]) -> str:
    """Ask the clerk."""
    return str((await clerk.run("Refund 4711", conversation_id=THREAD)).output)


agent = Agent(model("ask_the_clerk", {}), tools=[ask_the_clerk], capabilities=[asks])
try:
    last = agent.run_sync("Refund 4711", conversation_id=THREAD).output
except Exception as error:
    last = f"{type(error).__name__}: {error}"
program.tell(last=last)
