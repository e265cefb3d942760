"""A pydantic-ai agent with a function as its model: `agent.py THREAD [stream | events]`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import pausepoint.pydantic_ai
import program
from pausepoint import AsyncDesk
from pausepoint.pydantic_ai import HandleDeferredToolCalls
from pydantic_ai import Agent, CallDeferred, ToolReturnPart
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

THREAD = sys.argv[1]
SCRIPT = program.messages(THREAD)


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    played = sum(isinstance(message, ModelResponse) for message in messages)
    if played == len(SCRIPT):
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[part(call) for call in SCRIPT[played]])


def part(call: program.Call) -> ToolCallPart:
    return ToolCallPart(call.name, call.input, **({"tool_call_id": call.id} if call.id else {}))


async def model_stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    for place, part in enumerate(model(messages, info).parts):
        if isinstance(part, ToolCallPart):
            yield {place: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}
        elif isinstance(part, TextPart):
            yield part.content


def ask_human(question: str, options: list[str]) -> str:
    """Ask a person."""
    raise CallDeferred(kind="question")


answered_by: dict[str, str] = {}


class Told(HandleDeferredToolCalls):
    """Notes pydantic-ai's input, because the run does not show it."""

    async def handle_deferred_tool_calls(self, ctx: Any, *, requests: Any) -> Any:
        results = await super().handle_deferred_tool_calls(ctx, requests=requests)
        answered_by.update(results.answered_by if results else {})
        return results


pausepoint.pydantic_ai.HandleDeferredToolCalls = Told
names = program.run_page(
    "pydantic-ai.md",
    {
        "model": FunctionModel(model, stream_function=model_stream),
        "refund": program.refund,
        "drop": program.drop,
        "ask_human": ask_human,
        "desk": AsyncDesk(),
    },
)


async def streamed(agent: Any) -> Any:
    async with agent.run_stream("refund 4711", conversation_id=THREAD) as stream:
        await stream.get_output()


async def with_events(agent: Any) -> Any:
    async with agent.run_stream_events("refund 4711", conversation_id=THREAD) as events:
        return [event async for event in events][-1].result


async def by_a_condition(agent: Any) -> Any:
    tools = FunctionToolset([program.refund, program.drop]).approval_required(lambda *_: program.asks())
    asking = Agent(agent.model, toolsets=[tools], capabilities=[Told(AsyncDesk())])
    return await asking.run("refund 4711", conversation_id=THREAD)


MODES = {"stream": streamed, "events": with_events, "CALM": by_a_condition}
MODE = "CALM" if "CALM" in os.environ else "".join(sys.argv[2:])
if MODE:
    result = asyncio.run(MODES[MODE](names["agent"]))
else:
    free = FunctionToolset(program.FREE)
    result = names["agent"].run_sync("refund 4711", conversation_id=THREAD, toolsets=[free])
parts = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
returned = {part.tool_name: [part.outcome, part.content] for part in parts}
by = {call.removeprefix(f"{THREAD}-"): name for call, name in answered_by.items()}
program.tell([part.content for part in parts], messages=returned, last=result.output, answered_by=by)
