"""An app with another agent: `inner.py THREAD tool|isolated|transfer`, as a tool, as one without plugins, or as a sub-agent."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncGenerator
from typing import Any

warnings.filterwarnings("ignore")

import program  # noqa: E402
from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.apps import App  # noqa: E402
from google.adk.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools import AgentTool  # noqa: E402
from google.genai import types  # noqa: E402
from pausepoint import AsyncDesk  # noqa: E402
from pausepoint.google_adk import DeskPlugin  # noqa: E402

THREAD, MODE = sys.argv[1:3]
CALLS: dict[str, dict[str, Any]] = {
    "refund": program.REFUND,
    "clerk": {"request": "Refund 4711"},
    "transfer_to_agent": {"agent_name": "clerk"},
}


class Model(BaseLlm):
    calls: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if any(part.function_response and part.function_response.name == self.calls for part in parts):
            part = types.Part(text="done")
        else:
            call = types.FunctionCall(id=f"{THREAD}-{self.calls}", name=self.calls, args=CALLS[self.calls])
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> str:
    clerk = LlmAgent(
        name="clerk", description="Refunds.", model=Model(model="s", calls="refund"), tools=[program.refund]
    )
    if MODE == "transfer":
        agent = LlmAgent(name="billing", model=Model(model="s", calls="transfer_to_agent"), sub_agents=[clerk])
    else:
        tool = AgentTool(clerk, include_plugins=MODE != "isolated")
        agent = LlmAgent(name="billing", model=Model(model="s", calls="clerk"), tools=[tool])
    runner = InMemoryRunner(app=App(name="billing", root_agent=agent, plugins=[DeskPlugin(AsyncDesk(), "refund")]))
    session = await runner.session_service.create_session(app_name="billing", user_id="alice", session_id=THREAD)
    message = types.Content(role="user", parts=[types.Part(text="Refund 4711")])
    last = ""
    try:
        async for event in runner.run_async(user_id="alice", session_id=session.id, new_message=message):
            last = (event.content.parts or [types.Part()])[-1].text or last if event.content else last
    except Exception as error:
        found: BaseException = error
        while found.__cause__:
            found = found.__cause__
        return f"{type(found).__name__}: {found}"
    return last


program.tell(last=asyncio.run(main()))
