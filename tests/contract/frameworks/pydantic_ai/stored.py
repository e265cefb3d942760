"""A stored run of pydantic-ai with a function as its model: `stored.py THREAD FOLDER begin|resume HOW_MANY [REQUEST]`."""

from __future__ import annotations

import asyncio
from typing import Any

import program
import resumers
from pausepoint import AsyncDesk
from pydantic_ai import CallDeferred, ToolReturnPart
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from resumers import MODE, THREAD


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        resumers.hang_in("model")
        return ModelResponse(parts=[TextPart("done")])
    wanted = (("refund", program.REFUND), ("drop", program.DROP), ("ask_human", program.QUESTION))
    return ModelResponse(parts=[ToolCallPart(name, args, f"{THREAD}-{name}") for name, args in wanted])


def ask_human(question: str, options: list[str]) -> str:
    """Ask a person."""
    raise CallDeferred(kind="question")


def names_of_the_page(desk: AsyncDesk) -> dict[str, Any]:
    tools = {"refund": resumers.refund, "drop": resumers.drop, "ask_human": ask_human}
    return program.run_page("pydantic-ai.md", {"model": FunctionModel(model), "desk": desk, **tools})


def told(found: Any) -> dict[str, Any]:
    messages = found.output.all_messages() if found.output else []
    parts = [part for message in messages for part in message.parts]
    return {
        "status": found.status,
        "by": found.by,
        "ran": found.output is not None,
        "messages": {
            part.tool_name: [part.outcome, part.content] for part in parts if isinstance(part, ToolReturnPart)
        },
        "last": found.output.output if found.status == "finished" and found.output else None,
        "waiting": found.request_ids,
    }


async def begin() -> dict[str, Any]:
    async with AsyncDesk() as desk:
        return told(await names_of_the_page(desk)["begin"]())


if MODE == "begin":
    program.tell(**asyncio.run(begin()))
else:
    resumers.resume_together(lambda place: told(resumers.resume_stored(names_of_the_page, "stored_agent")))
