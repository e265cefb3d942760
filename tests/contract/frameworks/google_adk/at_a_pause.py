"""What Google ADK does at a pause, without Pausepoint: `at_a_pause.py THREAD`."""

from __future__ import annotations

import asyncio
import logging
import warnings
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import program  # noqa: E402
from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.apps import App, ResumabilityConfig  # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.adk.runners import Runner  # noqa: E402
from google.adk.sessions import InMemorySessionService  # noqa: E402
from google.adk.tools import FunctionTool  # noqa: E402
from google.genai import types  # noqa: E402
from pausing import WANTED, Condition, identity, ran, refund, sibling, tell, twice  # noqa: E402

ASK = "adk_request_confirmation"
READ: dict[str, Any] = {}
#: Stands for a stored one, which is the same with fewer packages.
SESSIONS = InMemorySessionService()


class Model(BaseLlm):
    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        parts = [part for content in llm_request.contents for part in content.parts]
        READ.update(
            {part.function_response.id: part.function_response.response for part in parts if part.function_response}
        )
        calls = [
            types.Part(function_call=types.FunctionCall(id=f"call-{name}", name=name, args=args))
            for name, args in WANTED
        ]
        asked = any(part.function_call for part in parts)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="done")] if asked else calls))


def runner(condition: Any, resumable: bool) -> Runner:
    """Return the runner as each process would make it anew."""
    gated = [FunctionTool(each, require_confirmation=condition) for each in (refund, program.drop)]
    agent = LlmAgent(name="billing", model=Model(model="offline"), tools=[*gated, FunctionTool(program.look)])
    app = App(name="desk", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
    return Runner(app=app, session_service=SESSIONS)


async def send(
    session: str, *parts: types.Part, condition: Any = True, new: bool = False, resumable: bool = False
) -> list[Any]:
    running = runner(condition, resumable)
    if new:
        await running.session_service.create_session(app_name="desk", user_id="user", session_id=session)
    message = types.Content(role="user", parts=list(parts))
    return [event async for event in running.run_async(user_id="user", session_id=session, new_message=message)]


def pause(session: str, condition: Any = True, *, resumable: bool = False) -> dict[str, str]:
    events = asyncio.run(send(session, types.Part(text="go"), condition=condition, new=True, resumable=resumable))
    calls = [call for event in events for call in event.get_function_calls() if call.name == ASK]
    return {call.args["originalFunctionCall"]["name"]: call.id for call in calls}


def resume(
    session: str, ids: dict[str, str], condition: Any = True, *, resumable: bool = False, **answers: bool
) -> None:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=ids[name], name=ASK, response={"confirmed": confirmed}))
        for name, confirmed in answers.items()
    ]
    asyncio.run(send(session, *parts, condition=condition, resumable=resumable))


def partial(session: str, *, resumable: bool) -> str:
    """Answer one of two calls; return what happens."""
    ids = pause(session, resumable=resumable)
    ran()
    READ.clear()
    resume(session, ids, refund=True, resumable=resumable)
    assert ran() == [[*program.REFUND.values()]]
    return "runs and goes on" if "error" in READ.get("call-drop", {}) else "runs and waits"


first = pause("first")
seen = {"sibling": sibling(), "id": identity(first["refund"], pause("second")["refund"], "call-refund")}
condition = Condition()


def asks(order: str = "", amount: int = 0, table: str = "") -> bool:
    return condition()


conditional = pause("conditional", asks)
before = condition.times
resume("conditional", conditional, asks, refund=True, drop=False)
seen["condition"] = "again" if condition.times > before else "once"
seen["partial"] = partial("partial", resumable=False)
# The note of the page says so.
assert partial("resumable", resumable=True) == "runs and waits"
two = pause("two")
seen["resumers"] = twice(lambda: resume("two", two, refund=True, drop=False))
READ.clear()
resume("first", first, refund=True, drop=False)
seen["rejected"] = READ["call-drop"]["error"]
tell("google-adk", **seen, changed="none", words="no", restart="session")
