"""Run the ready tool calls of a step, each within its time limit, and record their results.

Async tools run on the event loop, sync tools in a thread pool of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import BigAutoField, IntegerField
from pydantic_core import to_jsonable_python

from approvals.db import pool
from approvals.db.canonical_json import NotCanonical, canonical, clean_json, clean_text
from approvals.db.prepared import Parameter, Prepared
from approvals.json_types import JsonDict
from approvals.text.translatable import Count, gettext_noop
from chats import actions
from chats.actions import transitions
from chats.actions.calling import Execution
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.tools import InvalidInput, Tool, ToolContext, ToolError
from chats.engine.ledger import Ledger
from chats.engine.tool_files import ResultFiles, without_references
from chats.exceptions import BadFile, LeaseLost
from chats.models import Attachment, Turn, TurnEvent
from chats.queries.values import CallView
from chats.states import CLOSED, CallState

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tool calls that one runner runs for a turn."""

    turn: Turn
    ledger: Ledger

    async def run(self, agent: Agent, started: Sequence[Execution]) -> None:
        """Run the ready calls, and those already started, concurrently. Raise LeaseLost or StopRequested.

        Return when each has a result or has exceeded its limit. Calls of sub-agents begin turns of their own.
        """
        started = [*started, *await self._start(agent)]
        outcomes = await asyncio.gather(
            *(self._run_tool(agent, execution) for execution in started),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _start(self, agent: Agent) -> Sequence[Execution]:
        tools = {
            call.name: agent.tool(call.name)
            for call in self.ledger.progress.calls
            if call.state == CallState.READY
        }
        own = {
            name: tool
            for name, tool in tools.items()
            if tool is None or tool.agent is None
        }
        if len(own) < len(tools):
            await self.ledger.commit(
                lambda claim, recorded, _: actions.delegate_calls(
                    claim, agent, recorded
                )
            )
        if not own:
            return ()
        return (
            await self.ledger.commit(
                lambda claim, recorded, _: actions.start_calls(claim, own, recorded)
            )
        ).started

    async def _run_tool(self, agent: Agent, execution: Execution) -> None:
        # From here on only the tool can tell the outcome of the call.
        self.ledger.begun.add(execution.tool_call_id)
        tool = agent.tool(execution.name)
        if tool is None:
            await self._finish(
                execution,
                ToolRun(
                    error_text=f"There is no longer a tool named {execution.name!r}."
                ),
            )
            return
        context = ToolContext(
            tool_call_id=execution.tool_call_id,
            chat_id=self.turn.chat.public_id,
            user=self.turn.chat.owner.get_username(),
            attempt=execution.attempt,
            executions=execution.executions,
        )

        async def late(result: ToolRun) -> None:
            await self._keep(
                result, execution, functools.partial(self._store_late, execution)
            )

        result = await run_tool(tool, execution.input, context, late=late)
        if result is None:
            await self.ledger.commit(
                lambda claim, recorded, _: actions.time_out_run(
                    claim, execution, recorded, idempotent=tool.idempotent
                )
            )
        else:
            await self._finish(execution, result, idempotent=tool.idempotent)

    async def _finish(
        self, execution: Execution, result: ToolRun, *, idempotent: bool = False
    ) -> None:
        if idempotent and not result.files:
            # After a crash it would run again, so its result need not be stored before the next commit.
            output = result.output
            error = result.error_text
            self.ledger.apply(
                lambda progress: transitions.finish(
                    progress,
                    execution.tool_call_id,
                    execution.attempt,
                    output=output,
                    error_text=error,
                )
            )
            self.ledger.report(
                actions.result_event(execution.tool_call_id, output, error)
            )
            return
        await self._keep(result, execution, functools.partial(self._store, execution))

    async def _keep(
        self,
        result: ToolRun,
        execution: Execution,
        store: Callable[[ToolRun], Awaitable[None]],
    ) -> None:
        """Store the result of a tool that has run; if its files cannot be kept, with text placeholders."""
        try:
            await store(result)
        except BadFile as problem:
            await store(result.without_files(execution.name, str(problem)))

    async def _store(self, execution: Execution, result: ToolRun) -> None:
        outcome: JsonDict = {
            "output": result.output,
            "error_text": result.error_text,
            "files": result.files,
        }
        step = self.ledger.step
        try:
            written = await self.ledger.commit(
                lambda claim, recorded, seq: actions.record_run(
                    claim, execution, step, recorded, seq, **outcome
                )
            )
        except (LeaseLost, *pool.AWAY):
            # The tool has run, so its result is stored for any holder of the turn, even if the database is away for a while.
            await self._store_late(execution, result)
            raise
        if written.added:
            self.ledger.reported.add(execution.tool_call_id)
        else:
            await self._store_late(execution, result)

    async def _store_late(self, execution: Execution, result: ToolRun) -> None:
        kept = await pool.retry(
            actions.finish_call,
            execution,
            output=result.output,
            error_text=result.error_text,
            files=result.files,
        )
        if not kept:
            logger.warning(
                "A late result of %s (%s) was refused",
                execution.name,
                execution.tool_call_id,
            )


THREADS = 8
MAX_OUTPUT_BYTES = 256_000
#: Seconds for which the result of a run that exceeded its limit is still accepted.
LATE_LIMIT = 3600.0

_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-tool")


@dataclass(frozen=True, slots=True)
class ToolRun:
    """The result of a run: an output, or the text of an error. The output holds references to `files`, not yet stored."""

    output: Any = None
    error_text: str = ""
    files: Sequence[Attachment] = ()

    def without_files(self, tool_name: str, problem: str) -> ToolRun:
        """Return the result with text placeholders for its files."""
        return replace(
            self,
            output=without_references(self.output, tool_name, self.files, problem),
            files=(),
        )


Late = Callable[[ToolRun], Awaitable[None]]


async def run_tool(
    tool: Tool, value: Any, context: ToolContext, *, late: Late
) -> ToolRun | None:
    """Return the tool's result; None if it exceeded its limit, and then pass a late result to `late`.

    A sync tool that got no thread within its limit is not started; its result says so.
    """
    running: asyncio.Future[ToolRun]
    if inspect.iscoroutinefunction(tool.run):
        thread = None
        running = asyncio.create_task(_run_on_loop(tool, value, context))
    else:
        thread = _pool.submit(_run_in_thread, tool, value, context)
        running = asyncio.wrap_future(thread)
    await asyncio.wait({running}, timeout=tool.timeout)
    if running.done():
        return running.result()
    if thread is not None and thread.cancel():
        return ToolRun(
            error_text=f"{tool.name} was not started: all {THREADS} threads for tools were busy. Try again later."
        )
    _late_runs.add(waiting := asyncio.create_task(_wait_longer(running, late)))
    waiting.add_done_callback(_late_runs.discard)
    return None


_late_runs: set[asyncio.Task[None]] = set()


async def _wait_longer(running: asyncio.Future[ToolRun], late: Late) -> None:
    with contextlib.suppress(TimeoutError):
        await late(await asyncio.wait_for(running, LATE_LIMIT))


def _run_in_thread(tool: Tool, value: Any, context: ToolContext) -> ToolRun:
    try:
        output = pool.call_and_close(_bind(tool, value, context))
    except (Exception, SystemExit) as error:
        return _failure(tool, context, error)
    return _keep(tool, context, output)


async def _run_on_loop(tool: Tool, value: Any, context: ToolContext) -> ToolRun:
    try:
        output = await _bind(tool, value, context)()
    except (Exception, SystemExit) as error:
        return _failure(tool, context, error)
    # A large output would hold up the loop.
    return await asyncio.to_thread(_keep, tool, context, output)


def _bind(tool: Tool, value: Any, context: ToolContext) -> Callable[[], Any]:
    """Return the tool's function with its checked arguments. Raise InvalidInput or ToolError."""
    if tool.run is None:
        raise ToolError(f"{tool.name} is a question to a person and cannot be run.")
    arguments = tool.arguments(tool.validate(value))
    if tool.context_parameter:
        arguments[tool.context_parameter] = context
    return functools.partial(tool.run, **arguments)


def _failure(tool: Tool, context: ToolContext, error: BaseException) -> ToolRun:
    """Return the result for an error of a tool. SystemExit too: a tool that calls `sys.exit` must not end the server."""
    if isinstance(error, (ToolError, InvalidInput)):
        return ToolRun(
            error_text=clean_text(str(error))[:2000] or f"{tool.name} failed."
        )
    logger.error(
        "Tool %s raised (call %s)", tool.name, context.tool_call_id, exc_info=error
    )
    # As Python names a StopIteration that leaves a coroutine.
    name = "RuntimeError" if isinstance(error, StopIteration) else type(error).__name__
    return ToolRun(
        error_text=f"{tool.name} failed ({name}). The server's log has the details."
    )


def _keep(tool: Tool, context: ToolContext, output: Any) -> ToolRun:
    """Return the result of a tool that has run; if it cannot be kept, say so: the model must not think that it failed."""
    files = ResultFiles(tool.name, context.tool_call_id)
    try:
        return ToolRun(output=_storable(output, files), files=files.rows)
    except Exception as error:
        problem = (
            clean_text(str(error))[:300]
            if isinstance(error, ValueError)
            else type(error).__name__
        )
        return ToolRun(
            error_text=f"{tool.name} ran, but its result cannot be kept: {problem}."
        )


def _storable(output: Any, files: ResultFiles) -> Any:
    """Return the output as JSON within bounds, with references to its files. Raise ValueError if that is impossible."""
    plain = to_jsonable_python(output, fallback=files.take)
    # A cheap check of the size first: the exact one takes a minute for 50 MB.
    if len(json.dumps(plain, ensure_ascii=False)) > MAX_OUTPUT_BYTES:
        raise NotCanonical(
            gettext_noop("larger than %(limit)s bytes"), limit=Count(MAX_OUTPUT_BYTES)
        )
    value = clean_json(plain)
    canonical(value, max_bytes=MAX_OUTPUT_BYTES)
    return value


RESULTS = frozenset({events.ToolSucceeded.__name__, events.ToolFailed.__name__})


def result_of(call: CallView) -> events.ToolSucceeded | events.ToolFailed | None:
    """Return the event that reports a call's result; None for an open call, and for one that the stream does not report."""
    if call.state not in CLOSED or not (call.attempt or call.approved):
        return None
    if call.state == CallState.SUCCEEDED:
        return events.ToolSucceeded(call.tool_call_id, call.output)
    return events.ToolFailed(call.tool_call_id, call.error_text)


def reported_results(turn_id: int, step: int) -> set[str]:
    """Return the toolCallIds whose results the stored stream reports in a step."""
    return {
        chunk["tool_call_id"]
        for chunk in _CHUNKS.all(turn=turn_id, step=step)
        if chunk["event"] in RESULTS
    }


#: The stored events of a step.
_CHUNKS: Prepared[JsonDict] = Prepared(
    lambda: TurnEvent.objects.filter(
        turn=Parameter("turn", BigAutoField()), step=Parameter("step", IntegerField())
    ).values_list("chunk", flat=True)
)
