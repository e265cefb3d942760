"""OpenAI Agents SDK: runs an agent to its end, and asks people about each tool that needs approval.

    result = await run_with_desk(agent, "Refund order 4711", desk)
    stream = stream_with_desk(agent, "Refund order 4711", desk)

`ask_and_store` keeps the state of a run at Pausepoint in place of waiting, and `resume_from_desk` continues it, once, in any
process. Install with `pip install "pausepoint[openai-agents]"`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agents import Agent, Runner, RunResult, RunResultStreaming, RunState
from agents.items import ToolApprovalItem

from pausepoint import calls, durable, gate
from pausepoint.calls import Unreadable
from pausepoint.desk import LEASE, AsyncDesk, Outcome
from pausepoint.durable import NotYet, Resumption, StoredRun
from pausepoint.gate import AnyDesk, Ruling, Wanted
from pausepoint.openai_hooks import watch_agent, watched, watching
from pausepoint.openai_items import HOSTED, SILENT, call_of, raw_item


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
    run = watched(desk_calls, run)
    result = await desk_calls.run(agent, input, run)
    while result.interruptions:
        result = await desk_calls.run(agent, await desk_calls.decided(result, asked or {}), run)
    return result


def stream_with_desk(
    agent: Agent[Any],
    input: Any,
    desk: AnyDesk,
    *,
    thread_id: str = "",
    asked: dict[str, Any] | None = None,
    **run: Any,
) -> StreamedRun:
    """Like `run_with_desk`, with `Runner.run_streamed`: iterate over what is returned, and read its `result` afterwards.

    The events of the SDK stop while people decide, and go on in the same loop.
    """
    return StreamedRun(agent, input, _Calls(desk, thread_id), asked or {}, run)


class StreamedRun:
    """The events of a run, from `stream_with_desk`."""

    def __init__(
        self, agent: Agent[Any], input: Any, desk_calls: _Calls, extra: Mapping[str, Any], run: dict[str, Any]
    ) -> None:
        self._agent, self._input, self._calls, self._extra = agent, input, desk_calls, extra
        self._run = watched(desk_calls, run)
        #: What `Runner.run_streamed` has returned last: after the last event, it has the final output.
        self.result: RunResultStreaming | None = None

    async def __aiter__(self) -> AsyncIterator[Any]:
        while self.result is None or self.result.interruptions:
            if self.result is not None:
                self._input = await self._calls.decided(self.result, self._extra)
            with watching(self._calls):
                self.result = Runner.run_streamed(self._agent, self._input, **self._run)
            try:
                async for event in self.result.stream_events():
                    yield event
            except Exception as error:
                await self._calls.failed(error)
                raise
            await self._calls.report(self.result)


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
    agent: Agent[Any], desk: AsyncDesk, stored: StoredRun, extra: Mapping[str, Any], run: dict[str, Any]
) -> Resumption:
    desk_calls = _Calls(desk, stored.thread_id, claims=False)
    if stored.resume.attempt == 1:
        # An earlier attempt may have used them up, and each counts once; then people are asked again.
        for name, kept in stored.run["changed"]:
            outcome = Outcome(status="approved", comment="", answer=None, document={}, **kept)
            desk_calls.changed.append((name, Ruling(outcome, question=False)))
    state: RunState[Any, Any] = await RunState.from_string(agent, json.dumps(stored.run["state"]))
    for item in state.get_interruptions():
        if item.call_id in stored.outcomes:
            ruling = Ruling(stored.outcomes[item.call_id], question=False)
            _rule(state, item, await desk_calls.refusal(item, ruling, extra))
    run = watched(desk_calls, run)
    while True:
        result = await desk_calls.run(agent, state, run)
        if not result.interruptions:
            await durable.end_workflow(desk, stored.workflow_id)
            return Resumption("finished", result)
        state = result.to_state()
        known = [(item, answer) for item in state.get_interruptions() if (answer := desk_calls.known(item))]
        if not known:
            waiting = await _store(state, desk_calls, desk, extra, stored.workflow_id)
            return Resumption("waiting", result, waiting.requests)
        # These run before the others are stored: their results belong to requests of this pause, not of the next one.
        for item, answer in known:
            _rule(state, item, await desk_calls.refusal(item, answer, extra))


async def _store(
    state: RunState[Any, Any],
    desk_calls: _Calls,
    desk: AsyncDesk,
    extra: Mapping[str, Any],
    workflow_id: str,
) -> Resumption:
    items = state.get_interruptions()
    if not items:
        raise ValueError("This run has no interruptions, so there is nothing to ask.")
    unreadable = {item.call_id: text for item in items if isinstance(text := desk_calls.known(item), str)}
    if len(unreadable) == len(items):
        raise Unreadable(" ".join(unreadable.values()))
    for item in items:
        # The state keeps the refusal, and the model reads it when the run goes on.
        if item.call_id in unreadable:
            _rule(state, item, unreadable[item.call_id])
    wanted = [desk_calls.wanted(item, extra) for item in items if item.call_id not in unreadable]
    changed = [[name, _kept(ruling.outcome)] for name, ruling in desk_calls.changed]
    return await durable.store(
        desk, wanted, {"state": json.loads(state.to_string()), "changed": changed}, workflow_id=workflow_id
    )


#: What is reported of a call whose run ended before the SDK told what the call has done.
UNFINISHED = "The run ended before the result of this call was known, so it may have run."


class Unfinished(Exception):
    """No one knows what an approved call has done, so it must not run again on its approval."""


def _kept(outcome: Outcome) -> dict[str, Any]:
    """Return what has to be known of an approval with changes until its call is made again."""
    return {"request_id": outcome.request_id, "by": outcome.by, "input": outcome.input, "digest": outcome.digest}


def _rule(state: RunState[Any, Any], item: ToolApprovalItem, refused: str) -> None:
    if refused:
        state.reject(item, rejection_message=refused)
    else:
        state.approve(item)


class _Calls:
    """The calls of one run that people were asked about. A stored run holds the leases of its calls, so it claims none."""

    def __init__(self, desk: AnyDesk, thread_id: str, *, claims: bool = True) -> None:
        self.desk, self.thread_id, self.claims = desk, thread_id, claims
        #: What runs, by the id of the call.
        self.approved: dict[str, Ruling] = {}
        #: What was approved with changes and not called so yet.
        self.changed: list[tuple[str, Ruling]] = []
        #: The ids of the calls that run now.
        self.running: set[str] = set()
        #: The ids of approved calls that no hook is told about, with the names of their tools; None if the provider runs it.
        self.silent: dict[str, str | None] = {}
        #: The names of the tools that have begun a call without an id.
        self.begun: set[str] = set()

    async def run(self, agent: Agent[Any], input: Any, run: Mapping[str, Any]) -> RunResult:
        """Run the agent until it pauses or ends, and report what has run."""
        try:
            with watching(self):
                result: RunResult = await Runner.run(agent, input, **run)
        except (Exception, asyncio.CancelledError) as error:
            await self.failed(error)
            raise
        await self.report(result)
        return result

    async def decided(self, result: RunResult | RunResultStreaming, extra: Mapping[str, Any]) -> RunState[Any, Any]:
        """Return the state in which a run goes on, with the decisions about all its interruptions."""
        state: RunState[Any, Any] = result.to_state()
        items = state.get_interruptions()
        rulings = await asyncio.gather(*(self._ask(item, extra) for item in items))
        # Only now: a call that waits for the decision about another one does not run.
        for item, ruling in zip(items, rulings, strict=True):
            _rule(state, item, await self.refusal(item, ruling, extra))
        return state

    async def _ask(self, item: ToolApprovalItem, extra: Mapping[str, Any]) -> Ruling | str:
        return self.known(item) or await gate.adecided(self.desk, self.wanted(item, extra))

    def known(self, item: ToolApprovalItem) -> Ruling | str | None:
        """Return what no one has to be asked about: the approval of a call that this one repeats exactly as people have changed
        it (each such one counts once), or the words for the model of why people cannot read this one.
        """
        try:
            call = call_of(item, self.thread_id)
        except Unreadable as error:
            return str(error)
        for name, ruling in self.changed:
            if name == call.name and calls.same_input(ruling.input, call.input):
                self.changed.remove((name, ruling))
                return ruling
        return None

    async def refusal(self, item: ToolApprovalItem, ruling: Ruling | str, extra: Mapping[str, Any]) -> str:
        """Return what the model is told if the call may not run, and else nothing."""
        if isinstance(ruling, str):
            return ruling
        call = call_of(item, self.thread_id)
        if self.claims and calls.same_input(ruling.input, call.input):
            ruling = await gate.aclaimed(self.desk, ruling, extra)
        if not ruling.runs:
            known = ruling.outcome.result
            return ruling.text if known is None else ruling.noted(calls.known_result(known))
        if not calls.same_input(ruling.input, call.input):
            # The SDK cannot change the input of a call.
            await gate.arelease(self.desk, ruling)
            self.changed.append((call.name, ruling))
            return f"{ruling.note} It was not run. Make the call again with exactly this input."
        self._approve(item, ruling)
        return ""

    def _approve(self, item: ToolApprovalItem, ruling: Ruling) -> None:
        call_id = item.call_id or ""
        self.approved[call_id] = ruling
        kind = raw_item(item).get("type")
        if kind == HOSTED:
            self.silent[call_id] = None
        elif kind in SILENT:
            self.silent[call_id] = item.name
        # It may be of an agent that is a tool of another one, whose runs have hooks of their own.
        watch_agent(item.agent)

    async def report(self, result: RunResult | RunResultStreaming) -> None:
        """Report the outputs of approved calls of which no hook was told."""
        for item in result.new_items:
            if item.type == "tool_call_output_item":
                raw, output = raw_item(item), item.output
                failed = raw.get("status") == "failed"
                await self.ended(str(raw.get("call_id")), output, RuntimeError(str(output)) if failed else None)
            elif item.type == "tool_call_item" and (raw := raw_item(item)).get("type") == "mcp_call":
                error = RuntimeError(str(raw["error"])) if raw.get("error") else None
                await self.ended(str(raw.get("approval_request_id")), raw.get("output"), error)

    def began(self, call_id: str, name: str) -> None:
        """Note that a tool runs now; its call has no id where the SDK does not tell it."""
        if call_id:
            self.running.add(call_id)
        else:
            self.begun.add(name)

    async def ended(self, call_id: str, output: Any, error: BaseException | None = None) -> None:
        """Report the result of a call, if it was approved and not reported yet."""
        self.running.discard(call_id)
        self.silent.pop(call_id, None)
        if ruling := self.approved.pop(call_id, None):
            await gate.aended(self.desk, ruling, output=output, error=error)

    async def failed(self, error: BaseException) -> None:
        """Report the error that has ended the run for the tools that it has ended, and give back what has not begun. Of several
        tools that ran, no one knows whose error it was.
        """
        for call_id, name in list(self.silent.items()):
            if name is None or name in self.begun:
                await self.ended(call_id, None, Unfinished(UNFINISHED))
        for call_id in self.approved.keys() - self.running:
            await gate.arelease(self.desk, self.approved.pop(call_id))
        stopped, alone = not isinstance(error, Exception), len(self.running) == 1
        for call_id in list(self.running):
            if stopped or alone:
                await self.ended(call_id, None, error if stopped else error.__cause__ or error)
            elif (ruling := self.approved.pop(call_id, None)) and ruling.lease:
                ruling.lease.stop()

    def wanted(self, item: ToolApprovalItem, extra: Mapping[str, Any]) -> Wanted:
        # Tools of several namespaces may have the same name.
        tools = [tool for tool in item.agent.tools if item.name and tool.name == item.name]
        schema = getattr(tools[0], "params_json_schema", None) if len(tools) == 1 else None
        return Wanted(call_of(item, self.thread_id), question=False, extra=extra, schema=schema)
