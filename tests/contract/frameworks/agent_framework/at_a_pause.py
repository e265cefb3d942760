"""What the Microsoft Agent Framework does at a pause, without Pausepoint: `at_a_pause.py THREAD`."""

from __future__ import annotations

import asyncio
import copy
import json
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
from pausing import WANTED, identity, ran, refund, sibling, tell, twice

READ: dict[str, Any] = {}


class Model(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> ChatResponse:
        contents = [content for message in messages for content in message.contents]
        READ.update({each.call_id: each.result for each in contents if each.type == "function_result"})
        calls = [
            Content.from_function_call(call_id=f"call-{name}", name=name, arguments=json.dumps(args))
            for name, args in WANTED
        ]
        asked = any(each.type == "function_call" for each in contents)
        return ChatResponse(messages=[Message(role="assistant", contents=["done"] if asked else calls)])


def agent() -> Agent[Any]:
    gated = [tool(each, approval_mode="always_require") for each in (refund, program.drop)]
    return Agent(Model(), tools=[*gated, tool(program.look)])


def pause(session: AgentSession) -> dict[str, Any]:
    requests = asyncio.run(agent().run("go", session=session)).user_input_requests
    return {each.function_call.name: each for each in requests}


session = AgentSession(session_id="first")
requests = pause(session)
seen = {"sibling": sibling()}
again = pause(AgentSession(session_id="second"))
seen["id"] = identity(requests["refund"].id, again["refund"].id, "call-refund")
stored = json.dumps(session.to_dict())


def resume(**approvals: bool) -> Any:
    """Continue from the stored session, which another process could do, with these answers."""
    answers = [
        copy.deepcopy(requests[name]).to_function_approval_response(approved) for name, approved in approvals.items()
    ]
    return asyncio.run(
        agent().run(Message(role="user", contents=answers), session=AgentSession.from_dict(json.loads(stored)))
    )


partly = resume(refund=True)
left = [each.function_call.name for each in partly.user_input_requests]
seen["partial"] = {(False, "drop"): "waits"}[bool(ran()), *left]
READ.clear()
seen["resumers"] = twice(lambda: resume(refund=True, drop=False))
seen["rejected"] = READ["call-drop"]
tell("agent-framework-core", **seen, condition="none", changed="none", words="no", restart="session")
