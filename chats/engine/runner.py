"""Run a turn: claim it, ask the model, commit the step, run its tools, and stop at a pause or at the end.

What to do next is always read from the stored rows, so that a runner which takes over a turn in the middle, after a
pause or after a crash, does exactly what the one before would have done.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.utils.translation import gettext

from approvals.runtime import database
from approvals.runtime.translation import translated
from chats import actions, queries
from chats.actions.calling import Execution
from chats.actions.claiming import RENEW_EVERY
from chats.actions.keeping import Claim, Recorded
from chats.actions.stepping import CUT_OFF
from chats.agent import events, loop, registry
from chats.agent.agent import Agent
from chats.agent.loop import PlannedCall
from chats.agent.provider import ModelMessage, Provider, ProviderError
from chats.agent.tools import ToolContext
from chats.engine import results, streams
from chats.engine.ledger import Ledger
from chats.engine.toolbox import Result, run_tool
from chats.exceptions import LeaseLost, StopRequested
from chats.models import ToolCall, Turn
from chats.providers import current
from chats.states import ENDED, CallState, FinishReason, TurnState

logger = logging.getLogger(__name__)

OWNER = f"{socket.gethostname()}:{os.getpid()}"

FINISH_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
}


async def advance(turn_id: int, stop: asyncio.Event) -> None:
    """Take a turn as far as it goes without a person; returns at once if another runner has it.

    Setting `stop` cuts the model short. Cancelling hands the turn over to the next runner.
    """
    claimed = await database.run(actions.claim_turn, turn_id, owner=OWNER)
    if claimed is None:
        return
    claim, turn, last_seq = claimed
    if turn.stopped:
        stop.set()
    run = Run(claim, turn, Ledger(claim, last_seq), stop)
    renewal = asyncio.create_task(run.keep_lease())
    try:
        await run.drive()
    except LeaseLost as lost:
        logger.info("Stepped back: %s", lost)
    except database.AWAY as error:
        # What was committed is not known here: as after a crash, the next runner reads it from the rows.
        logger.warning("Turn %s is handed over: the database went away (%s)", turn_id, error)
        await database.insist(actions.release_turn, claim)
    except asyncio.CancelledError:
        await asyncio.shield(database.run(actions.release_turn, claim))
        raise
    finally:
        renewal.cancel()
        run.ledger.close()


class Run:
    """One runner's hold of one turn."""

    def __init__(self, claim: Claim, turn: Turn, ledger: Ledger, stop: asyncio.Event) -> None:
        self.claim, self.turn, self.ledger, self.stop = claim, turn, ledger, stop
        self.said: list[str] = []
        self.step_open = False
        self.knows_told = False

    async def keep_lease(self) -> None:
        """Renew the lease until cancelled; a lost lease or a stop pressed elsewhere cuts the model short."""
        while True:
            await asyncio.sleep(RENEW_EVERY.total_seconds())
            held, stopped = await database.insist(actions.renew_lease, self.claim)
            if stopped or not held:
                self.stop.set()

    async def drive(self) -> None:
        """Go from step to step; every way out leaves the turn suspended, ended, or to the next runner."""
        try:
            agent = registry.get(settings.HITL_AGENTS, self.turn.agent)
            while await self._next(agent):
                continue
        except StopRequested:
            await self._close(actions.end_stopped, "".join(self.said))
        except (ProviderError, registry.UnknownAgent) as error:
            await self._close(actions.fail_turn, translated(error))
        except (LeaseLost, *database.AWAY):
            raise
        except Exception:
            logger.exception("Turn %s failed", self.claim.turn_id)
            sorry = gettext("Something went wrong. The server's log has the details. Send your message again.")
            await self._close(actions.fail_turn, sorry)

    async def _next(self, agent: Agent) -> bool:
        """Do the one next thing; False when the turn has been suspended or has ended."""
        progress = await database.run(queries.progress_of, self.claim.turn_id)
        self.ledger.step = max(progress.steps - 1, 0)
        await self._tell_results(progress.calls)
        if self.stop.is_set():
            raise StopRequested
        states = {call.state for call in progress.calls}
        if CallState.READY in states:
            await self._run_calls(agent, [call for call in progress.calls if call.state == CallState.READY])
            return True
        if CallState.DELEGATED in states and await self._attend():
            return True
        if states & {CallState.WAITING, CallState.UNKNOWN, CallState.DELEGATED}:
            return not await self._close(actions.pause_turn, agent)
        reason = _reason(agent, progress.steps, progress.stop_reason)
        # Cut off in the middle of a call, the model would only run into the same limit again.
        over = not states or reason in {FinishReason.LENGTH, FinishReason.CONTENT_FILTER}
        if progress.steps and over and progress.stop_reason != "pause_turn":
            await self._close(actions.finish_turn, reason)
            return False
        return not await self._ask_model(agent, progress.steps)

    async def _tell_results(self, calls: Sequence[ToolCall]) -> None:
        """Tell the results that the stream does not tell yet: of a runner that went down, or that came late, past this one."""
        found = [result for call in calls if (result := results.result_of(call)) is not None]
        if found and not self.knows_told:
            self.ledger.told |= await database.run(results.told_results, self.claim.turn_id, self.ledger.step)
        self.knows_told = True
        for result in found:
            self.ledger.tell(result)

    async def _ask_model(self, agent: Agent, index: int) -> bool:
        """Commit the model's next answer; whether the turn has come to rest with it."""
        self._end_open_step()
        self.ledger.step, self.step_open, self.said = index, True, []
        if index >= agent.max_steps:
            self.ledger.record(events.StepStarted(index))
            return await self._commit_step(agent, index, self._say_limit(agent), "pausepoint")
        history = await database.run(queries.model_history, self.turn)
        provider = current()
        answer = asyncio.create_task(self._listen(agent, provider, history, index))
        cut = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({answer, cut}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cut.cancel()
            answer.cancel()
        if not answer.done():
            await asyncio.wait({answer})
        if answer.cancelled():
            raise StopRequested
        return await self._commit_step(agent, index, answer.result(), provider.name)

    async def _listen(
        self, agent: Agent, provider: Provider, history: list[ModelMessage], index: int
    ) -> events.ModelFinished:
        """Pass the model's events on; gives its whole answer."""
        async for event in loop.stream_step(agent, provider, history, index):
            if isinstance(event, events.ModelFinished):
                return event
            if isinstance(event, events.TextDelta):
                self.said.append(event.text)
            self.ledger.record(event)
        raise ProviderError(gettext("The model's answer ended before it was complete. Send your message again."))

    async def _commit_step(self, agent: Agent, index: int, finished: events.ModelFinished, provider: str) -> bool:
        planned = loop.plan_calls(agent, finished.blocks)
        if finished.stop_reason != "tool_use":
            for call in planned:
                self.ledger.record(events.ToolFailed(call.tool_call_id, CUT_OFF))
        rest = self._rest_after(agent, index, finished, planned)

        def commit(recorded: Sequence[Recorded], next_seq: int) -> Sequence[Recorded] | None:
            given = (self.claim, index, finished, planned, recorded)
            step = functools.partial(actions.commit_step, *given, provider=provider)
            return step() if rest is None else actions.in_one_commit(step, functools.partial(rest, (), next_seq))

        rests = self._tell_others(await self.ledger.commit(commit))
        self.said = []
        return rests

    def _rest_after(
        self, agent: Agent, index: int, finished: events.ModelFinished, planned: Sequence[PlannedCall]
    ) -> Callable[[Sequence[Recorded], int], list[Recorded]] | None:
        """The pause or the end that follows from a step by itself; None where there is more to do first."""
        if not planned and finished.stop_reason != "pause_turn":
            reason = _reason(agent, index + 1, finished.stop_reason)
            return functools.partial(actions.finish_turn, self.claim, reason, index)
        # A call that failed at once is told of in the step's commit, and a pause takes the workflow's lock before all telling.
        waits = bool(planned) and all(call.needs_person and not call.error_text for call in planned)
        if waits and finished.stop_reason == "tool_use":
            return functools.partial(actions.pause_turn, self.claim, agent, index)
        return None

    def _say_limit(self, agent: Agent) -> events.ModelFinished:
        text = f"I have taken {agent.max_steps} steps, which is as far as I may go in one turn. Tell me how to go on."
        for event in (events.TextStarted("limit"), events.TextDelta("limit", text), events.TextEnded("limit")):
            self.ledger.record(event)
        return events.ModelFinished([{"type": "text", "text": text}], "end_turn", "")

    async def _attend(self) -> bool:
        """Look after the sub-agents: settle those that have ended, wait for those at work; False if all wait for people."""
        rests = streams.Rests()
        states = await database.run(queries.states_below, self.claim.turn_id)
        if not states.keys().isdisjoint(ENDED):
            # What came of them is told from the rows, as all results that this runner did not bring about itself.
            await database.run(actions.settle_delegated, self.claim)
            return True
        at_work = [pk for state, pks in states.items() if state != TurnState.SUSPENDED for pk in pks]
        if not at_work:
            return False
        waiting = [asyncio.create_task(rests.wait(at_work)), asyncio.create_task(self.stop.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return True

    async def _run_calls(self, agent: Agent, calls: Sequence[ToolCall]) -> None:
        outcomes = await asyncio.gather(*(self._run_call(agent, call) for call in calls), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _run_call(self, agent: Agent, call: ToolCall) -> None:
        tool = agent.tool(call.name)
        if tool is not None and tool.agent is not None:
            await database.run(actions.delegate_call, self.claim, call.pk, tool.agent)
            return
        execution = await database.run(actions.claim_call, self.claim, call.pk)
        if execution is None:
            return
        if tool is None:
            gone = Result(error_text=f"There is no tool named {execution.name!r} any more.")
            await self._finish_call(execution, gone)
            return
        context = ToolContext(
            tool_call_id=execution.tool_call_id,
            chat_id=self.turn.chat.public_id,
            user=self.turn.chat.owner.get_username(),
            attempt=execution.attempt,
            executions=execution.executions,
        )

        async def late(result: Result) -> None:
            await self._finish_call(execution, result)

        result = await run_tool(tool, execution.input, context, late=late)
        if result is None:
            await database.run(actions.lose_call, execution, idempotent=tool.idempotent)
        else:
            await self._finish_call(execution, result)

    async def _finish_call(self, execution: Execution, result: Result) -> None:
        # What has happened has happened: its record must not get lost with a database that is away for a while.
        kept = await database.insist(actions.finish_call, execution, output=result.output, error_text=result.error_text)
        if not kept:
            logger.warning("A late result of %s (%s) was refused", execution.name, execution.tool_call_id)
        elif result.error_text:
            self.ledger.tell(events.ToolFailed(execution.tool_call_id, result.error_text))
        else:
            self.ledger.tell(events.ToolSucceeded(execution.tool_call_id, result.output))

    def _end_open_step(self) -> None:
        if self.step_open:
            self.ledger.record(events.StepEnded(self.ledger.step))
            self.step_open = False

    async def _close(self, action: Any, *given: Any) -> bool:
        """Commit a pause or an end, and tell the followers; whether the turn has come to rest by it."""
        closing = await self.ledger.commit(functools.partial(action, self.claim, *given, self.ledger.step))
        return self._tell_others(closing)

    def _tell_others(self, closing: Sequence[Recorded]) -> bool:
        """Let other processes know of a commit, whose last events are given; whether the turn has come to rest by it."""
        rests = bool(closing) and isinstance(closing[-1].event, streams.CLOSING)
        streams.tell_others(self.claim.turn_id, rests=rests)
        return rests


def _reason(agent: Agent, steps: int, stop_reason: str) -> FinishReason:
    over_limit = steps > agent.max_steps
    return FinishReason.OTHER if over_limit else FINISH_REASONS.get(stop_reason, FinishReason.OTHER)
