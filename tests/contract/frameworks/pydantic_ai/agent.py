"""A pydantic-ai agent with a function as its model: `agent.py THREAD`."""

from __future__ import annotations

import sys

import program
from pausepoint import AsyncDesk
from pydantic_ai import CallDeferred, ToolReturnPart
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

THREAD = sys.argv[1]


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if returned:
        return ModelResponse(parts=[TextPart("done")])
    wanted = (("refund", program.REFUND), ("drop", program.DROP), ("ask_human", program.QUESTION))
    return ModelResponse(parts=[ToolCallPart(name, args, f"{THREAD}-{name}") for name, args in wanted])


def ask_human(question: str, options: list[str]) -> str:
    """Ask a person."""
    raise CallDeferred(kind="question")


names = program.run_page(
    "pydantic-ai.md",
    {
        "model": FunctionModel(model),
        "refund": program.refund,
        "drop": program.drop,
        "ask_human": ask_human,
        "desk": AsyncDesk(),
    },
)
result = names["agent"].run_sync("refund 4711", conversation_id=THREAD)
returned = {
    part.tool_name: [part.outcome, part.content]
    for message in result.all_messages()
    for part in message.parts
    if isinstance(part, ToolReturnPart)
}
program.tell(messages=returned, last=result.output)
