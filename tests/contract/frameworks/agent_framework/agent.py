"""An agent of the Microsoft Agent Framework with a scripted model: `agent.py THREAD [less | inner]`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import program
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from pausepoint import AsyncDesk

THREAD = sys.argv[1]


def wanted(name: str, args: dict[str, Any]) -> Content:
    return Content.from_function_call(call_id=f"{THREAD}-{name}", name=name, arguments=json.dumps(args))


class Model(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> ChatResponse:
        returned = {
            content.call_id.removeprefix(f"{THREAD}-"): content.result
            for message in messages
            for content in message.contents
            if content.type == "function_result"
        }
        self.read = returned
        calls = (("refund", program.REFUND), ("drop", program.DROP), ("ask_human", program.QUESTION))
        contents = ["done"] if returned else [wanted(name, args) for name, args in calls]
        return ChatResponse(messages=[Message(role="assistant", contents=contents)])


client = Model()
MODE = sys.argv[2] if len(sys.argv) > 2 else ""
tools = [tool(program.refund), tool(program.drop), tool(program.ask_human)]
if MODE == "less":
    tools = tools[1:]
if MODE == "inner":
    tools.append(
        Agent(client, name="inner", tools=[tool(program.refund), tool(program.ask_human)]).as_tool(name="inner")
    )
names = program.run_page(
    "agent-framework.md",
    {
        "client": client,
        "tools": tools,
        "desk": AsyncDesk(),
    },
)
response = asyncio.run(names["agent"].run("refund 4711", session=AgentSession(session_id=THREAD)))
program.tell(messages=client.read, last=response.text)
