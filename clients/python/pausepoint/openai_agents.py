"""OpenAI Agents SDK: runs an agent to its end, and asks people about each tool that needs approval.

    result = await run_with_desk(agent, "Refund order 4711", desk)

Install with `pip install "pausepoint[openai-agents]"`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, Runner, RunResult, RunState
from agents.items import ToolApprovalItem

from pausepoint import calls
from pausepoint.calls import AnyDesk, ToolCall
from pausepoint.desk import Outcome


async def run_with_desk(
    agent: Agent[Any],
    input: Any,
    desk: AnyDesk,
    *,
    thread_id: str = "",
    asked: dict[str, Any] | None = None,
    **run: Any,
) -> RunResult:
    """Run an agent, put each interruption to people, and go on with their decisions until the run has a final output.

    `input` is what `Runner.run` takes, or a stored `RunState`. `thread_id` names the conversation; without one, Pausepoint
    knows a call by the id that the model gave it. `asked` are more fields of each request, and `run` those of `Runner.run`.

    The SDK cannot change the arguments of a call. After an approval with changes the model is told to make the call again,
    and a call with exactly the approved input then runs, once, without asking again.
    """
    desk_calls = _Calls(desk, thread_id, asked or {})
    result: RunResult = await Runner.run(agent, input, **run)
    while result.interruptions:
        state: RunState[Any, Any] = result.to_state()
        items = state.get_interruptions()
        for item, refused in zip(items, await asyncio.gather(*map(desk_calls.ask, items)), strict=True):
            if refused:
                state.reject(item, rejection_message=refused)
            else:
                state.approve(item)
        result = await Runner.run(agent, state, **run)
        await desk_calls.report(result)
    return result


class _Calls:
    """The calls of one run that people were asked about."""

    def __init__(self, desk: AnyDesk, thread_id: str, asked: dict[str, Any]) -> None:
        self.desk, self.thread_id, self.asked = desk, thread_id, asked
        #: What runs, by the id of the call.
        self.approved: dict[str, Outcome] = {}
        #: What was approved with changes and not called so yet.
        self.changed: list[tuple[str, Outcome]] = []

    async def ask(self, item: ToolApprovalItem) -> str:
        """Return what the model is told if the call may not run, and else nothing."""
        call = self._call(item)
        for name, outcome in self.changed:
            if (name, outcome.input) == (call.name, call.input):
                self.changed.remove((name, outcome))
                self.approved[item.call_id or ""] = outcome
                return ""
        outcome = await calls.await_human(self.desk, call.title, **{**call.approval(), **self.asked})
        if not outcome.approved:
            return calls.refusal(outcome)
        if outcome.edited:
            self.changed.append((call.name, outcome))
            return f"{calls.change(outcome)} It was not run. Make the call again with exactly this input."
        self.approved[item.call_id or ""] = outcome
        return ""

    async def report(self, result: RunResult) -> None:
        """Report the outputs of approved calls that have run."""
        for item in result.new_items:
            if item.type != "tool_call_output_item" or not isinstance(item.raw_item, dict):
                continue
            if outcome := self.approved.pop(str(item.raw_item.get("call_id")), None):
                await calls.areport(self.desk, outcome, output=item.output)

    def _call(self, item: ToolApprovalItem) -> ToolCall:
        given = json.loads(item.arguments or "{}")
        wanted = given if isinstance(given, dict) else {"arguments": given}
        return ToolCall(item.name or "tool", item.call_id or "", wanted, self.thread_id, item.agent.name)
