"""Agents whose calls would run unasked, and approved calls that end without a result or early: `unasked.py THREAD`."""

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
    MiddlewareTermination,
    UserInputRequiredException,
    function_middleware,
    tool,
)
from pausepoint import AsyncDesk
from pausepoint.agent_framework import DeskMiddleware
from pausepoint.gate import NotGated


class Scripted(BaseChatClient):  # type: ignore[misc]
    calls = ""

    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> ChatResponse:
        ran = any(content.type == "function_result" for message in messages for content in message.contents)
        call = {"call_id": f"{sys.argv[1]}-{self.calls}", "name": self.calls, "arguments": json.dumps(program.DROP)}
        contents = [Content.from_function_call(**call)] if self.calls and not ran else ["done"]
        return ChatResponse(messages=[Message(role="assistant", contents=contents)])


class Layered(FunctionInvocationLayer, ChatMiddlewareLayer, Scripted):  # type: ignore[misc]
    pass


class Plain(FunctionInvocationLayer, Scripted):  # type: ignore[misc]
    """A client that never calls chat middleware."""


async def run(middleware: Any, *tools: Any, calls: str = "", client: Any = Layered) -> str:
    model = client()
    model.calls = calls
    agent = Agent(model, tools=list(tools), middleware=[*middleware])
    try:
        return str((await agent.run("go on", session=AgentSession(session_id=sys.argv[1]))).text)
    except Exception as error:
        found: BaseException | None = error
        while found and not isinstance(found, NotGated):
            found = found.__cause__
        return str(found or f"{type(error).__name__}: {error}")


def pause(table: str) -> str:
    """Ask for something first."""
    program.RAN.append("paused")
    raise UserInputRequiredException(contents=[])


def stop(table: str) -> str:
    """End the run."""
    program.RAN.append("stopped")
    return "stopped"


@function_middleware
async def ends(context: Any, call_next: Any) -> None:
    await call_next()
    raise MiddlewareTermination


async def main() -> None:
    desk = AsyncDesk()
    drop, wipe = tool(program.drop), tool(name="wipe")(program.drop)
    shared = DeskMiddleware(desk, "drop")
    program.tell(
        named=await run([DeskMiddleware(desk, "web_search")], {"type": "web_search"}),
        first=await run([shared], drop, wipe, calls="wipe"),
        second=await run([shared], wipe, tool(program.refund), calls="wipe"),
        plain=await run([DeskMiddleware(desk, "drip")], wipe, calls="wipe", client=Plain),
        checked=await run([DeskMiddleware(desk, "drop")], drop, wipe, calls="wipe", client=Plain),
        paused=[await run([DeskMiddleware(desk, "pause")], tool(pause), calls="pause") for _ in range(2)],
        stopped=await run([DeskMiddleware(desk, "stop"), ends], tool(stop), calls="stop"),
    )


asyncio.run(main())
