"""An agent with a structured result, which its model gives beside a gated call: `with_result.py THREAD`."""

from __future__ import annotations

import sys

import program
from pausepoint import AsyncDesk
from pausepoint.pydantic_ai import HandleDeferredToolCalls
from pydantic import BaseModel
from pydantic_ai import Agent, Tool, ToolReturnPart
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

THREAD = sys.argv[1]


class Report(BaseModel):
    refunded: str


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    refunded = returned[0].content if returned else "not known yet"
    result = ToolCallPart(info.output_tools[0].name, {"refunded": refunded}, f"{THREAD}-result-{len(messages)}")
    if returned:
        return ModelResponse(parts=[result])
    return ModelResponse(parts=[result, ToolCallPart("refund", program.REFUND, f"{THREAD}-refund")])


agent = Agent(
    FunctionModel(model),
    tools=[Tool(program.refund, requires_approval=True)],
    output_type=Report,
    capabilities=[HandleDeferredToolCalls(AsyncDesk())],
)
program.tell(last=agent.run_sync("Refund 4711", conversation_id=THREAD).output.refunded)
