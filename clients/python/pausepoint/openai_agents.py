"""OpenAI Agents SDK: runs an agent to its end, and asks people about each tool that needs approval.

    result = await run_with_desk(agent, "Refund order 4711", desk)
    stream = stream_with_desk(agent, "Refund order 4711", desk)

`ask_and_store` keeps the state of a run at Pausepoint instead of waiting, and `resume_from_desk` continues it, once, in any
process. Install with `pip install "pausepoint[openai-agents]"`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agents import Agent, Runner, RunResult, RunResultStreaming, RunState

from pausepoint import durable
from pausepoint.agents_sdk.calls import RunCalls, rule
from pausepoint.agents_sdk.hooks import watched, watching
from pausepoint.calls import Unreadable
from pausepoint.desk import LEASE, AsyncDesk, Outcome
from pausepoint.durable import NotYet, Resumption, StoredRun
from pausepoint.gate import AnyDesk, Ruling


async def run_with_desk(
    agent: Agent[Any],
    input: Any,
    desk: AnyDesk,
    *,
    thread_id: str = "",
    asked: dict[str, Any] | None = None,
    **run: Any,
) -> RunResult:
    """Run an agent, ask people about each interruption, and continue with their decisions until the run has a final output.

    `input` is the input of `Runner.run`, or a stored `RunState`. `thread_id` names the conversation; without one, Pausepoint
    identifies a call by the model's id. `asked` are additional fields of each request, and `run` arguments of `Runner.run`.

    The SDK cannot change the arguments of a call. After an approval with changes the model is told to make the call again, and a
    call with exactly the approved input then runs, once, without asking again.
    """
    desk_calls = RunCalls(desk, thread_id)
    run = watched(desk_calls, run)
    result = await desk_calls.run(agent, input, run)
    while result.interruptions:
        result = await desk_calls.run(
            agent, await desk_calls.decided(result, asked or {}), run
        )
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
    """Like `run_with_desk`, with `Runner.run_streamed`: iterate over the returned object, and read its `result` afterwards.

    The events of the SDK stop while people decide, and continue in the same loop.
    """
    return StreamedRun(agent, input, RunCalls(desk, thread_id), asked or {}, run)


class StreamedRun:
    """The events of a run, from `stream_with_desk`."""

    def __init__(
        self,
        agent: Agent[Any],
        input: Any,
        desk_calls: RunCalls,
        extra: Mapping[str, Any],
        run: dict[str, Any],
    ) -> None:
        self._agent, self._input, self._calls, self._extra = (
            agent,
            input,
            desk_calls,
            extra,
        )
        self._run = watched(desk_calls, run)
        #: The last return value of `Runner.run_streamed`: after the last event, it has the final output.
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
    return await _store(
        result.to_state(), RunCalls(desk, thread_id), desk, asked or {}, ""
    )


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
    """Continue the run that waits for this request, if people have decided all its requests and no other process was faster. If
    it pauses again, its new state is stored and people are asked, with the fields `asked`.

    A call whose result was reported by an earlier attempt does not run again: the model is told the result.
    """
    try:
        async with durable.stored_run(desk, request_id, by=by, lease=lease) as stored:
            return await _resumed(agent, desk, stored, asked or {}, run)
    except NotYet as reason:
        return reason.resumption


async def _resumed(
    agent: Agent[Any],
    desk: AsyncDesk,
    stored: StoredRun,
    extra: Mapping[str, Any],
    run: dict[str, Any],
) -> Resumption:
    desk_calls = RunCalls(desk, stored.thread_id, claims=False)
    if stored.resume.attempt == 1:
        # An earlier attempt may have used them up, and each counts once; then people are asked again.
        for name, kept in stored.run["changed"]:
            outcome = Outcome(
                status="approved", comment="", answer=None, document={}, **kept
            )
            desk_calls.changed.append((name, Ruling(outcome, question=False)))
    state: RunState[Any, Any] = await RunState.from_string(
        agent, json.dumps(stored.run["state"])
    )
    for item in state.get_interruptions():
        if item.call_id in stored.outcomes:
            ruling = Ruling(stored.outcomes[item.call_id], question=False)
            rule(state, item, await desk_calls.refusal(item, ruling, extra))
    run = watched(desk_calls, run)
    while True:
        result = await desk_calls.run(agent, state, run)
        if not result.interruptions:
            await durable.end_workflow(desk, stored.workflow_id)
            return Resumption("finished", result)
        state = result.to_state()
        known = [
            (item, answer)
            for item in state.get_interruptions()
            if (answer := desk_calls.known(item))
        ]
        if not known:
            waiting = await _store(state, desk_calls, desk, extra, stored.workflow_id)
            return Resumption("waiting", result, waiting.requests)
        # These run before the others are stored: their results belong to requests of this pause, not of the next one.
        for item, answer in known:
            rule(state, item, await desk_calls.refusal(item, answer, extra))


async def _store(
    state: RunState[Any, Any],
    desk_calls: RunCalls,
    desk: AsyncDesk,
    extra: Mapping[str, Any],
    workflow_id: str,
) -> Resumption:
    items = state.get_interruptions()
    if not items:
        raise ValueError("This run has no interruptions, so there is nothing to ask.")
    unreadable = {
        item.call_id: text
        for item in items
        if isinstance(text := desk_calls.known(item), str)
    }
    if len(unreadable) == len(items):
        raise Unreadable(" ".join(unreadable.values()))
    for item in items:
        # The state keeps the refusal, and the model reads it when the run continues.
        if item.call_id in unreadable:
            rule(state, item, unreadable[item.call_id])
    wanted = [
        desk_calls.wanted(item, extra)
        for item in items
        if item.call_id not in unreadable
    ]
    changed = [[name, _kept(ruling.outcome)] for name, ruling in desk_calls.changed]
    return await durable.store(
        desk,
        wanted,
        {"state": json.loads(state.to_string()), "changed": changed},
        workflow_id=workflow_id,
    )


def _kept(outcome: Outcome) -> dict[str, Any]:
    """Return the data of an approval with changes that is kept until its call is made again."""
    return {
        "request_id": outcome.request_id,
        "by": outcome.by,
        "input": outcome.input,
        "digest": outcome.digest,
    }
