"""An agent of Google ADK with a scripted model: `agent.py THREAD [less]`."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncGenerator
from typing import Any

warnings.filterwarnings("ignore")

import program  # noqa: E402
from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402
from pausepoint import AsyncDesk  # noqa: E402

THREAD = sys.argv[1]
READ: dict[str, Any] = {}
TEXTS: list[Any] = []
SCRIPT = program.messages(THREAD)


def wanted(call: program.Call) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call.id or None, name=call.name, args=call.input))


def said(*parts: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=list(parts)))


class Model(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        returned = [part.function_response for part in llm_request.contents[-1].parts or [] if part.function_response]
        READ.update({one.name: one.response for one in returned})
        TEXTS.extend(one.response for one in returned)
        yield said(*map(wanted, SCRIPT.pop(0))) if SCRIPT else said(types.Part(text="done"))


async def main() -> None:
    tools = [program.refund, program.drop, program.ask_human, *program.FREE]
    agent = LlmAgent(name="billing", model=Model(model="scripted"), tools=tools[1:] if "less" in sys.argv else tools)
    names = program.run_page("google-adk.md", {"agent": agent, "desk": AsyncDesk()})
    runner = InMemoryRunner(app=names["app"])
    await runner.session_service.create_session(app_name="billing", user_id="alice", session_id=THREAD)
    message = types.Content(role="user", parts=[types.Part(text="refund 4711")])
    last = ""
    async for event in runner.run_async(user_id="alice", session_id=THREAD, new_message=message):
        last = (event.content.parts or [types.Part()])[-1].text or last if event.content else last
    program.tell(TEXTS, messages=READ, last=last)


asyncio.run(main())
