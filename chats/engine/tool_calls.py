"""Run the ready tool calls of a step, and record what comes of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from approvals.runtime import database
from chats import actions
from chats.actions.calling import Execution
from chats.actions.writes import Claim
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.tools import ToolContext
from chats.engine.ledger import Ledger
from chats.engine.toolbox import Result, run_tool
from chats.exceptions import BadFile
from chats.models import ToolCall, Turn

logger = logging.getLogger(__name__)


class ToolCalls:
    """The tool calls that one runner runs for a turn."""

    def __init__(self, claim: Claim, turn: Turn, ledger: Ledger) -> None:
        self._claim, self._turn, self._ledger = claim, turn, ledger

    async def run(self, agent: Agent, calls: Sequence[ToolCall], started: Sequence[Execution] = ()) -> None:
        """Run these ready calls, and those that were started already, at the same time.

        Return when each has a result or has exceeded its limit. LeaseLost.
        """
        running = [self._run_call(agent, call) for call in calls] + [self._run_tool(agent, one) for one in started]
        outcomes = await asyncio.gather(*running, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _run_call(self, agent: Agent, call: ToolCall) -> None:
        tool = agent.tool(call.name)
        if tool is not None and tool.agent is not None:
            await database.run(actions.delegate_call, self._claim, call.pk, tool.agent)
            return
        execution = await database.run(actions.claim_call, self._claim, call.pk)
        if execution is not None:
            await self._run_tool(agent, execution)

    async def _run_tool(self, agent: Agent, execution: Execution) -> None:
        tool = agent.tool(execution.name)
        if tool is None:
            await self._finish(execution, Result(error_text=f"There is no tool named {execution.name!r} any more."))
            return
        context = ToolContext(
            tool_call_id=execution.tool_call_id,
            chat_id=self._turn.chat.public_id,
            user=self._turn.chat.owner.get_username(),
            attempt=execution.attempt,
            executions=execution.executions,
        )

        async def late(result: Result) -> None:
            await self._finish(execution, result)

        actions.begin_call(execution)
        result = await run_tool(tool, execution.input, context, late=late)
        if result is None:
            await database.run(actions.time_out_call, execution, idempotent=tool.idempotent)
        else:
            await self._finish(execution, result)

    async def _finish(self, execution: Execution, result: Result) -> None:
        # The tool has run, so its result is stored even if the database is away for a while.
        try:
            kept = await self._store(execution, result)
        except BadFile as problem:
            result = result.without_files(execution.name, str(problem))
            kept = await self._store(execution, result)
        if not kept:
            logger.warning("A late result of %s (%s) was refused", execution.name, execution.tool_call_id)
        elif result.error_text:
            self._ledger.report(events.ToolFailed(execution.tool_call_id, result.error_text))
        else:
            self._ledger.report(events.ToolSucceeded(execution.tool_call_id, result.output))

    async def _store(self, execution: Execution, result: Result) -> bool:
        return await database.retry(
            actions.finish_call,
            execution,
            output=result.output,
            error_text=result.error_text,
            files=result.files,
        )
