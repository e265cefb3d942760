"""What the OpenAI Agents SDK does at a pause, without Pausepoint: `at_a_pause.py THREAD`."""

from __future__ import annotations

import asyncio
from typing import Any

import program
from agents import Agent, Runner, RunState, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from pausing import WANTED, Condition, identity, ran, refund, sibling, tell, twice

set_tracing_disabled(True)
CALLS = [function_call(name, args, call_id=f"call-{name}") for name, args in WANTED]


def agent(needs_approval: Any = True) -> Agent[Any]:
    tools = [
        function_tool(refund, needs_approval=needs_approval),
        function_tool(program.drop, needs_approval=needs_approval),
        function_tool(program.look),
    ]
    return Agent(name="billing", tools=tools, model=ScriptedModel([CALLS, [assistant_message("done")]]))


def paused(gated: Agent[Any]) -> str:
    return asyncio.run(Runner.run(gated, "go")).to_state().to_string()


def resume(gated: Agent[Any], stored: str, words: str | None = None, **approvals: bool) -> Any:
    """Continue a stored run, which another process could do, with these answers."""

    async def run() -> Any:
        state = await RunState.from_string(gated, stored)
        for item in state.get_interruptions():
            name = str(item.name)
            if name in approvals:
                state.approve(item) if approvals[name] else state.reject(item, rejection_message=words)
        return await Runner.run(gated, state)

    return asyncio.run(run())


def outputs(result: Any) -> dict[str, str]:
    items = result.to_input_list()
    return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}


gated = agent()
stored = paused(gated)
seen = {"sibling": sibling()}
(asked, _), (again, _) = (asyncio.run(Runner.run(agent(), "go")).interruptions for _ in range(2))
seen["id"] = identity(asked.call_id, again.call_id, "call-refund")

condition = Condition()


async def asks(_context: Any, _arguments: dict[str, Any], _call_id: str) -> bool:
    return condition()


by_condition = agent(asks)
conditional = paused(by_condition)
before = condition.times
resume(by_condition, conditional, refund=True, drop=False)
seen["condition"] = "again" if condition.times > before else "once"

ran()
partly = resume(gated, stored, refund=True)
left = [item.name for item in partly.interruptions]
seen["partial"] = "runs and waits" if (ran(), left) == ([[*program.REFUND.values()]], ["drop"]) else "other"


def resume_anew() -> None:
    resume(agent_after_the_pause(), stored, refund=True, drop=False)


def agent_after_the_pause() -> Agent[Any]:
    gated = agent()
    gated.model = ScriptedModel([[assistant_message("done")]])
    return gated


seen["resumers"] = twice(resume_anew)
rejected = outputs(resume(agent_after_the_pause(), stored, refund=True, drop=False))
seen["rejected"] = rejected["call-drop"]
seen["words"] = outputs(resume(agent_after_the_pause(), stored, "Not today.", refund=True, drop=False))["call-drop"]
tell("openai-agents", **seen, changed="none", restart="state")
