"""Run the ready tool calls of a step, and record what comes of them."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from approvals.db import pool
from chats import actions
from chats.actions import transitions
from chats.actions.calling import Execution
from chats.agent.agent import Agent
from chats.agent.tools import ToolContext
from chats.engine.ledger import Ledger
from chats.engine.toolbox import Result, run_tool
from chats.exceptions import BadFile, LeaseLost
from chats.models import Turn
from chats.states import CallState

logger = logging.getLogger(__name__)


class ToolCalls:
    """The tool calls that one runner runs for a turn."""

    def __init__(self, turn: Turn, ledger: Ledger) -> None:
        self._turn, self._ledger = turn, ledger

    async def run(self, agent: Agent, started: Sequence[Execution]) -> None:
        """Run the ready calls, and those that were started already, at the same time. LeaseLost, StopRequested.

        Return when each has a result or has exceeded its limit. Calls of sub-agents begin turns of their own.
        """
        started = [*started, *await self._start(agent)]
        outcomes = await asyncio.gather(
            *(self._run_tool(agent, execution) for execution in started), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _start(self, agent: Agent) -> Sequence[Execution]:
        tools = {
            call.name: agent.tool(call.name) for call in self._ledger.progress.calls if call.state == CallState.READY
        }
        own = {name: tool for name, tool in tools.items() if tool is None or tool.agent is None}
        if len(own) < len(tools):
            await self._ledger.commit(lambda claim, recorded, _: actions.delegate_calls(claim, agent, recorded))
        if not own:
            return ()
        return (await self._ledger.commit(lambda claim, recorded, _: actions.start_calls(claim, own, recorded))).started

    async def _run_tool(self, agent: Agent, execution: Execution) -> None:
        # From here on only the tool can tell the outcome of the call.
        self._ledger.begun.add(execution.tool_call_id)
        tool = agent.tool(execution.name)
        if tool is None:
            await self._finish(execution, Result(error_text=f"There is no longer a tool named {execution.name!r}."))
            return
        context = ToolContext(
            tool_call_id=execution.tool_call_id,
            chat_id=self._turn.chat.public_id,
            user=self._turn.chat.owner.get_username(),
            attempt=execution.attempt,
            executions=execution.executions,
        )

        async def late(result: Result) -> None:
            await self._keep(result, execution, functools.partial(self._store_late, execution))

        result = await run_tool(tool, execution.input, context, late=late)
        if result is None:
            await self._ledger.commit(
                lambda claim, recorded, _: actions.time_out_run(claim, execution, recorded, idempotent=tool.idempotent)
            )
        else:
            await self._finish(execution, result, idempotent=tool.idempotent)

    async def _finish(self, execution: Execution, result: Result, *, idempotent: bool = False) -> None:
        if idempotent and not result.files:
            # After a crash it would run again, so its result need not be stored before the next commit.
            output, error = result.output, result.error_text
            self._ledger.apply(
                lambda progress: transitions.finish(
                    progress, execution.tool_call_id, execution.attempt, output=output, error_text=error
                )
            )
            self._ledger.report(actions.result_event(execution.tool_call_id, output, error))
            return
        await self._keep(result, execution, functools.partial(self._store, execution))

    async def _keep(self, result: Result, execution: Execution, store: Callable[[Result], Awaitable[None]]) -> None:
        """Store the result of a tool that has run, or, if its files cannot be kept, words in their place."""
        try:
            await store(result)
        except BadFile as problem:
            await store(result.without_files(execution.name, str(problem)))

    async def _store(self, execution: Execution, result: Result) -> None:
        outcome: dict[str, Any] = {"output": result.output, "error_text": result.error_text, "files": result.files}
        step = self._ledger.step
        try:
            written = await self._ledger.commit(
                lambda claim, recorded, seq: actions.record_run(claim, execution, step, recorded, seq, **outcome)
            )
        except (LeaseLost, *pool.AWAY):
            # The tool has run, so its result is stored whoever has the turn, and even if the database is away for a while.
            await self._store_late(execution, result)
            raise
        if written.added:
            self._ledger.reported.add(execution.tool_call_id)
        else:
            await self._store_late(execution, result)

    async def _store_late(self, execution: Execution, result: Result) -> None:
        kept = await pool.retry(
            actions.finish_call, execution, output=result.output, error_text=result.error_text, files=result.files
        )
        if not kept:
            logger.warning("A late result of %s (%s) was refused", execution.name, execution.tool_call_id)
