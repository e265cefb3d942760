"""OpenAI Agents SDK: runs an agent to its end, and asks people about each tool that needs approval.

    result = await run_with_desk(agent, "Refund order 4711", desk)

`ask_and_store` keeps the state of a run at Pausepoint in place of waiting, and `resume_from_desk` continues it, once, in any
process. Install with `pip install "pausepoint[openai-agents]"`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from agents import Agent, RunHooks, Runner, RunResult, RunState
from agents.items import ToolApprovalItem

from pausepoint import calls, durable
from pausepoint.calls import AnyDesk, ToolCall
from pausepoint.desk import LEASE, AsyncDesk, Outcome
from pausepoint.durable import NotYet, Resumption, StoredRun, Wanted


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
    desk_calls = _Calls(desk, thread_id)
    result: RunResult = await Runner.run(agent, input, **run)
    while result.interruptions:
        state: RunState[Any, Any] = result.to_state()
        items = state.get_interruptions()
        for item, refused in zip(
            items, await asyncio.gather(*(desk_calls.ask(i, asked or {}) for i in items)), strict=True
        ):
            _rule(state, item, refused)
        result = await Runner.run(agent, state, **run)
        await desk_calls.report(result)
    return result


async def ask_and_store(
    result: RunResult,
    desk: AsyncDesk,
    *,
    thread_id: str = "",
    asked: Mapping[str, Any] | None = None,
) -> Resumption:
    """Ask people about all interruptions of a run, and keep its state at Pausepoint; return without waiting.

    The process may end then. `resume_from_desk` continues the run after the decisions.
    """
    return await _store(result.to_state(), _Calls(desk, thread_id), desk, asked or {}, "")


async def resume_from_desk(
    agent: Agent[Any],
    desk: AsyncDesk,
    request_id: str,
    *,
    by: str = "",
    lease: int = LEASE,
    asked: Mapping[str, Any] | None = None,
    **run: Any,
) -> Resumption:
    """Continue the run that waits for this request, if people have decided all that it waits for and no other process was
    faster. If it pauses again, its new state is stored and people are asked, with the fields `asked`.

    A call whose result was reported by an earlier attempt does not run again: the model is told the result.
    """
    try:
        async with durable.stored_run(desk, request_id, by=by, lease=lease) as stored:
            return await _resumed(agent, desk, stored, asked or {}, run)
    except NotYet as reason:
        return reason.resumption


async def _resumed(
    agent: Agent[Any], desk: AsyncDesk, stored: StoredRun, asked: Mapping[str, Any], run: dict[str, Any]
) -> Resumption:
    desk_calls = _Calls(desk, stored.thread_id)
    if stored.resume.attempt == 1:
        # An earlier attempt may have used them up, and each counts once; then people are asked again.
        desk_calls.changed = [(name, _outcome_of(kept)) for name, kept in stored.run["changed"]]
    state: RunState[Any, Any] = await RunState.from_string(agent, json.dumps(stored.run["state"]))
    for item in state.get_interruptions():
        if item.call_id in stored.results:
            _rule(state, item, durable.known_result(stored.results[item.call_id]))
        elif item.call_id in stored.outcomes:
            _rule(state, item, desk_calls.ruling(item, stored.outcomes[item.call_id]))
    while True:
        # Reported at once: a result that is known is not produced again after a crash.
        hooks = {} if "hooks" in run else {"hooks": _Reports(desk_calls)}
        result: RunResult = await Runner.run(agent, state, **hooks, **run)
        await desk_calls.report(result)
        if not result.interruptions:
            await durable.end_workflow(desk, stored.workflow_id)
            return Resumption("finished", result)
        state = result.to_state()
        repeated = [item for item in state.get_interruptions() if desk_calls.is_approved_repeat(item)]
        if not repeated:
            waiting = await _store(state, desk_calls, desk, asked, stored.workflow_id)
            return Resumption("waiting", result, waiting.requests)
        # These run before the others are stored: their results belong to requests of this pause, not of the next one.
        for item in repeated:
            state.approve(item)


async def _store(
    state: RunState[Any, Any],
    desk_calls: _Calls,
    desk: AsyncDesk,
    asked: Mapping[str, Any],
    workflow_id: str,
) -> Resumption:
    items = state.get_interruptions()
    if not items:
        raise ValueError("This run has no interruptions, so there is nothing to ask.")
    wanted = [Wanted(desk_calls.call(item), question=False, asked=asked) for item in items]
    changed = [[name, _kept(outcome)] for name, outcome in desk_calls.changed]
    return await durable.store(
        desk, wanted, {"state": json.loads(state.to_string()), "changed": changed}, workflow_id=workflow_id
    )


def _kept(outcome: Outcome) -> dict[str, Any]:
    """Return what has to be known of an approval with changes until its call is made again."""
    return {"request_id": outcome.request_id, "by": outcome.by, "input": outcome.input, "digest": outcome.digest}


def _outcome_of(kept: Mapping[str, Any]) -> Outcome:
    return Outcome(status="approved", comment="", answer=None, document={}, **kept)


def _rule(state: RunState[Any, Any], item: ToolApprovalItem, refused: str) -> None:
    if refused:
        state.reject(item, rejection_message=refused)
    else:
        state.approve(item)


class _Calls:
    """The calls of one run that people were asked about."""

    def __init__(self, desk: AnyDesk, thread_id: str) -> None:
        self.desk, self.thread_id = desk, thread_id
        #: What runs, by the id of the call.
        self.approved: dict[str, Outcome] = {}
        #: What was approved with changes and not called so yet.
        self.changed: list[tuple[str, Outcome]] = []

    async def ask(self, item: ToolApprovalItem, asked: Mapping[str, Any]) -> str:
        """Return what the model is told if the call may not run, and else nothing."""
        if self.is_approved_repeat(item):
            return ""
        call = self.call(item)
        return self.ruling(item, await calls.await_human(self.desk, call.title, **{**call.approval(), **asked}))

    def is_approved_repeat(self, item: ToolApprovalItem) -> bool:
        """Return whether this call repeats another one exactly as people have changed it; each such approval counts once."""
        call = self.call(item)
        for name, outcome in self.changed:
            if name == call.name and calls.same_input(outcome.input, call.input):
                self.changed.remove((name, outcome))
                self.approved[item.call_id or ""] = outcome
                return True
        return False

    def ruling(self, item: ToolApprovalItem, outcome: Outcome) -> str:
        """Return what the model is told if the call may not run, and else nothing."""
        if not outcome.approved:
            return calls.refusal(outcome)
        if outcome.edited:
            self.changed.append((item.name or "tool", outcome))
            return f"{calls.change(outcome)} It was not run. Make the call again with exactly this input."
        self.approved[item.call_id or ""] = outcome
        return ""

    async def report(self, result: RunResult) -> None:
        """Report the outputs of approved calls that have run."""
        for item in result.new_items:
            if item.type == "tool_call_output_item" and isinstance(item.raw_item, dict):
                await self.report_call(str(item.raw_item.get("call_id")), item.output)

    async def report_call(self, call_id: str, output: Any) -> None:
        """Report the output of a call, if it was approved and not reported yet."""
        if outcome := self.approved.pop(call_id, None):
            await calls.areport(self.desk, outcome, output=output)

    def call(self, item: ToolApprovalItem) -> ToolCall:
        given = json.loads(item.arguments or "{}")
        wanted = given if isinstance(given, dict) else {"arguments": given}
        return ToolCall(item.name or "tool", item.call_id or "", wanted, self.thread_id, item.agent.name)


class _Reports(RunHooks[Any]):
    """Reports each result when its tool ends."""

    def __init__(self, desk_calls: _Calls) -> None:
        self.calls = desk_calls

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        if call_id := getattr(context, "tool_call_id", None):
            await self.calls.report_call(call_id, result)
