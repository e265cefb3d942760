"""Apps whose calls would run unasked, each with its run's output: `unasked.py`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import warnings
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

warnings.filterwarnings("ignore")

import program  # noqa: E402
from google.adk.agents import LiveRequestQueue, LlmAgent, RunConfig  # noqa: E402
from google.adk.apps import App  # noqa: E402
from google.adk.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from google.adk.models.base_llm_connection import BaseLlmConnection  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools import google_search  # noqa: E402
from google.genai import types  # noqa: E402
from pausepoint import AsyncDesk  # noqa: E402
from pausepoint.gate import NotGated  # noqa: E402
from pausepoint.google_adk import DeskPlugin  # noqa: E402


def wipe(table: str) -> str:
    """Wipe a table."""
    return program.drop(table)


def said(part: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def wanted(name: str) -> LlmResponse:
    return said(types.Part(function_call=types.FunctionCall(id=f"{sys.argv[1]}-{name}", name=name, args=program.DROP)))


class Connection(BaseLlmConnection):
    """A model in a live run, which calls `wipe` once."""

    async def send_history(self, history: Any) -> None: ...
    async def send_content(self, content: Any, **_: Any) -> None: ...
    async def send_realtime(self, blob: Any) -> None: ...
    async def close(self) -> None: ...

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        yield wanted("wipe")
        yield LlmResponse(turn_complete=True)
        await asyncio.Event().wait()


class Model(BaseLlm):
    calls: str = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        ran = any(part.function_response for part in llm_request.contents[-1].parts or [])
        yield wanted(self.calls) if self.calls and not ran else said(types.Part(text="done"))

    @contextlib.asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[Connection]:
        yield Connection()


async def run(plugin: DeskPlugin, *tools: Any, calls: str = "", live: bool = False) -> str:
    agent = LlmAgent(name="billing", model=Model(model="gemini-scripted", calls=calls), tools=list(tools))
    runner = InMemoryRunner(app=App(name="billing", root_agent=agent, plugins=[plugin]))
    session = await runner.session_service.create_session(app_name="billing", user_id="alice")
    given: dict[str, Any] = {"user_id": "alice", "session_id": session.id}
    message = types.Content(role="user", parts=[types.Part(text="go on")])
    try:
        if live:
            queue = LiveRequestQueue()
            queue.send_content(message)
            events = runner.run_live(**given, live_request_queue=queue, run_config=RunConfig())
        else:
            events = runner.run_async(**given, new_message=message)
        async for event in events:
            if event.get_function_responses() and live:
                return "it ran"
    except Exception as error:
        found: BaseException | None = error
        while found and not isinstance(found, NotGated):
            found = found.__cause__
        return str(found or f"{type(error).__name__}: {error}")
    return "done"


async def main() -> None:
    desk = AsyncDesk()
    shared = DeskPlugin(desk, "drop")
    program.tell(
        named=await run(DeskPlugin(desk, "google_search"), google_search),
        unnamed=await run(DeskPlugin(desk), google_search),
        beside=await run(DeskPlugin(desk, "drop"), program.drop, google_search),
        first=await run(shared, program.drop, wipe, calls="wipe"),
        second=await run(shared, wipe, program.refund, calls="wipe"),
        live=await run(DeskPlugin(desk, "drip"), wipe, live=True),
    )


asyncio.run(main())
