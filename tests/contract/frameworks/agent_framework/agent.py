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
SCRIPT = program.messages(THREAD)


def wanted(call: program.Call) -> Content:
    return Content.from_function_call(call_id=call.id, name=call.name, arguments=json.dumps(call.input))


class Model(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> ChatResponse:
        results = [each for message in messages for each in message.contents if each.type == "function_result"]
        self.read = {each.call_id.removeprefix(f"{THREAD}-"): each.result for each in results}
        self.texts = [each.result for each in results]
        contents = list(map(wanted, SCRIPT.pop(0))) if SCRIPT else ["done"]
        return ChatResponse(messages=[Message(role="assistant", contents=contents)])


client = Model()
MODE = sys.argv[2] if len(sys.argv) > 2 else ""
tools = [tool(each) for each in (program.refund, program.drop, program.ask_human, *program.FREE)]
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
program.tell(client.texts, messages=client.read, last=response.text)
