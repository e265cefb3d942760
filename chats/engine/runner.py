"""Run a turn: claim it, ask the model, run its tools, and stop at a pause or at the end.

The next action follows from the progress of the turn, a value that is read once and replaced by each transition. So a runner that
takes over in the middle of a turn, after a pause or a crash, continues exactly as its predecessor would have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from django.conf import settings
from django.utils.translation import gettext

from approvals.db import pool
from approvals.text.translation import translated
from chats import actions, queries
from chats.actions.calling import Execution
from chats.actions.claiming import Begun
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.provider import ProviderError
from chats.engine import ledger, streams, tool_calls
from chats.engine.ledger import Ledger, rests_with
from chats.engine.model_steps import ModelSteps, finish_reason, unless
from chats.engine.tool_calls import ToolCalls
from chats.exceptions import LeaseLost, StopRequested
from chats.models import Turn
from chats.queries.values import TOLD, CallView
from chats.states import ENDED, CallState, TurnState

logger = logging.getLogger(__name__)

#: Seconds after which a runner tries again to claim a turn. After that the sweep finds it, up to a second later.
LOOK_AGAIN = 0.05


async def advance(turn_id: int, stop: asyncio.Event) -> None:
    """Run a turn as far as possible without a person. Return if another runner has it.

    Setting `stop` cuts the model short. Cancelling hands the turn over to the next runner.
    """
    begun = await _begin(turn_id)
    if begun is None:
        # Another person who decided at the same time may still hold the lock on the resumed turn.
        await asyncio.sleep(LOOK_AGAIN)
        begun = await _begin(turn_id)
    if begun is not None:
        await go_on(begun, stop)


async def go_on(begun: Begun, stop: asyncio.Event) -> None:
    """Run a turn claimed by this process as far as possible without a person, as in `advance`."""
    claim, turn, last_seq, started = begun
    if turn.stopped:
        stop.set()
    run = Run(turn, Ledger(claim, last_seq), stop, started)
    with closing(run.ledger), ledger.renewed(run.ledger, stop):
        try:
            await run.drive()
        except LeaseLost as lost:
            logger.info("The turn belongs to another runner: %s", lost)
        except pool.AWAY as error:
            # Whether the last commit succeeded is unknown here. The next runner reads it from the rows, as after a crash.
            logger.warning(
                "Turn %s is handed over: the database went away (%s)", turn.pk, error
            )
            await pool.retry(actions.release_turn, run.ledger.claim, run.ledger.begun)
        except asyncio.CancelledError:
            await asyncio.shield(
                pool.run(actions.release_turn, run.ledger.claim, run.ledger.begun)
            )
            raise


async def _begin(turn_id: int) -> Begun | None:
    """Claim the turn; if cancelled meanwhile, hand it over at once, because the claiming thread continues."""
    claiming = asyncio.create_task(
        pool.run(actions.begin_run, turn_id, owner=ledger.owner())
    )
    try:
        return await asyncio.shield(claiming)
    except asyncio.CancelledError:
        claimed = await claiming
        if claimed is not None:
            await asyncio.shield(pool.run(actions.release_turn, claimed[0]))
        raise


class Run:
    """One runner's work on one turn, under one claim."""

    def __init__(
        self,
        turn: Turn,
        ledger: Ledger,
        stop: asyncio.Event,
        started: Sequence[Execution] = (),
    ) -> None:
        self.ledger = ledger
        self.stop = stop
        self._turn = turn
        self._started = started
        #: Done once `stop` is set.
        self._stopped: asyncio.Future[Any]
        self._model = ModelSteps(turn, ledger)
        self._tools = ToolCalls(turn, ledger)
        self._read_reported = False

    async def drive(self) -> None:
        """Act until the turn is suspended, has ended, or belongs to another runner. Raise LeaseLost or `pool.AWAY`."""
        self._stopped = asyncio.create_task(self.stop.wait())
        try:
            await self._drive()
        except (LeaseLost, *pool.AWAY):
            raise
        except Exception:
            # The next runner would ask the model again and fail in the same place.
            logger.exception(
                "The end of turn %s cannot be stored; it fails without its message",
                self._turn.pk,
            )
            await self._close(
                actions.abandon_turn, _something_wrong(), begun=self.ledger.begun
            )
        finally:
            self._stopped.cancel()

    async def _drive(self) -> None:
        try:
            agent = registry.get(settings.HITL_AGENTS, self._turn.agent)
            while await self._act(agent):
                continue
        except StopRequested:
            await self._close(
                actions.end_stopped, self._model.unfinished, begun=self.ledger.begun
            )
        except (ProviderError, registry.UnknownAgent) as error:
            await self._fail(translated(error))
        except (LeaseLost, *pool.AWAY):
            raise
        except Exception:
            logger.exception("Turn %s failed", self._turn.pk)
            await self._fail(_something_wrong())

    async def _fail(self, error: str) -> None:
        await self._close(
            actions.fail_turn,
            error,
            left=self._model.unfinished,
            begun=self.ledger.begun,
        )

    async def _act(self, agent: Agent) -> bool:
        """Take the next action; return False when the turn has been suspended or has ended."""
        progress = self.ledger.progress
        self.ledger.step = max(len(progress.steps) - 1, 0)
        await self._report_results(progress.calls)
        if self.stop.is_set():
            raise StopRequested
        started = self._started
        self._started = ()
        states = {call.state for call in progress.calls}
        if started or CallState.READY in states:
            await self._tools.run(agent, started)
            return True
        if CallState.DELEGATED in states and await self._wait_for_sub_agents():
            return True
        if states & {CallState.WAITING, CallState.UNKNOWN, CallState.DELEGATED}:
            return not await self._close(actions.pause_turn, agent)
        # After an answer that was cut off inside a call, the model would only reach the same limit again.
        over = not states or progress.stop_reason in TOLD
        if progress.steps and over and progress.stop_reason != "pause_turn":
            reason = finish_reason(agent, len(progress.steps), progress.stop_reason)
            await self._close(actions.finish_turn, reason)
            return False
        written = await self._model.ask(agent, progress, self._stopped)
        self._started = written.started
        return not rests_with(written.added)

    async def _report_results(self, calls: Sequence[CallView]) -> None:
        """Report results that the stream lacks: those of a crashed runner, and late ones."""
        reportable = [
            result
            for call in calls
            if (result := tool_calls.result_of(call)) is not None
        ]
        if not self._read_reported and any(
            result.tool_call_id not in self.ledger.reported for result in reportable
        ):
            self.ledger.reported |= await pool.run(
                tool_calls.reported_results, self._turn.pk, self.ledger.step
            )
            self._read_reported = True
        for result in reportable:
            self.ledger.report(result)

    async def _wait_for_sub_agents(self) -> bool:
        """Wait until a sub-agent has ended, and settle its call; return False if all wait for people.

        The rows of the sub-agents are polled, but the chat is read again only after the wait.
        """
        waited = False
        while True:
            watch = streams.RestWatch()
            states = await pool.run(queries.sub_agent_turns, self._turn.pk)
            if not states.keys().isdisjoint(ENDED):
                # `_report_results` reports their results.
                await self.ledger.commit(
                    lambda claim, recorded, _: actions.settle_delegated(claim, recorded)
                )
                return True
            at_work = [
                pk
                for state, pks in states.items()
                if state != TurnState.SUSPENDED
                for pk in pks
            ]
            if not at_work:
                # After a wait, results that have arrived in the meantime are reported before the pause.
                return waited
            async with unless(self._stopped):
                await watch.wait(at_work)
            waited = True

    async def _close(self, action: Any, *arguments: Any, **options: Any) -> bool:
        """Commit a pause or an end; return whether the turn rests now."""
        step = self.ledger.step
        written = await self.ledger.commit(
            lambda claim, recorded, seq: action(
                claim, *arguments, step, recorded, seq, **options
            )
        )
        return rests_with(written.added)


def _something_wrong() -> str:
    return gettext(
        "Something went wrong. The server's log has the details. Send your message again."
    )
