"""A stored run of the OpenAI Agents SDK with a scripted model: `stored.py THREAD FOLDER begin|resume HOW_MANY [REQUEST]`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import program
import resumers
from agents import Agent, RunResult, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from pausepoint import AsyncDesk
from resumers import MODE, THREAD

set_tracing_disabled(True)


class Model(ScriptedModel):
    async def get_response(self, *given: Any, **more: Any) -> Any:
        resumers.hang_in("model")
        return await super().get_response(*given, **more)


CALLS = [
    function_call("refund", program.REFUND, call_id=f"{THREAD}-refund"),
    function_call("drop", program.DROP, call_id=f"{THREAD}-drop"),
]
#: As it is told, the model makes the changed call again, and once more after that.
CHANGED = program.REFUND | {"amount": 99}
SCRIPTS = {
    "begin": [CALLS],
    "again": [
        [function_call("refund", CHANGED, call_id=f"{THREAD}-again")],
        [function_call("refund", CHANGED, call_id=f"{THREAD}-more")],
    ],
    "again and more": [
        [
            function_call("refund", CHANGED, call_id=f"{THREAD}-again"),
            function_call("drop", program.DROP, call_id=f"{THREAD}-more"),
        ]
    ],
    "another": [[function_call("drop", program.DROP, call_id=f"{THREAD}-more")]],
    # The model is not there any more when the call has run.
    "again and no model": [[function_call("refund", CHANGED, call_id=f"{THREAD}-again")]],
    "no model": [],
}


def names_of_the_page(desk: AsyncDesk) -> dict[str, Any]:
    script = SCRIPTS.get(os.environ.get("SCRIPT", MODE), [[assistant_message("done")]])
    agent = Agent(
        name="billing",
        instructions="Refund.",
        tools=[
            function_tool(resumers.refund, needs_approval=True),
            function_tool(resumers.drop, needs_approval=True),
        ],
        model=Model(script),
    )
    return program.run_page("openai-agents.md", {"agent": agent, "desk": desk, "thread_id": THREAD})


def told(found: Any) -> dict[str, Any]:
    outputs = (
        [item.output for item in found.output.new_items if item.type == "tool_call_output_item"] if found.output else []
    )
    last = found.output.final_output if isinstance(found.output, RunResult) else None
    return {
        "status": found.status,
        "by": found.by,
        "ran": found.output is not None,
        "outputs": outputs,
        "last": last,
        "waiting": found.request_ids,
    }


async def begin() -> dict[str, Any]:
    async with AsyncDesk() as desk:
        return told(await names_of_the_page(desk)["begin"]())


def resumed(place: int) -> dict[str, Any]:
    try:
        return told(resumers.resume_stored(names_of_the_page, "agent"))
    except Exception as error:
        return {"status": type(error).__name__}


if MODE == "begin":
    program.tell(**asyncio.run(begin()))
else:
    resumers.resume_together(resumed)
