"""Ask the model: stream its answer to followers, and commit it as a step before any of its tools run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.utils.translation import gettext

from approvals.db import pool
from chats import actions
from chats.actions.transitions import CUT_OFF
from chats.agent import events, loop
from chats.agent.agent import Agent
from chats.agent.provider import ModelMessage, Provider, ProviderError
from chats.engine.ledger import Commit, Ledger
from chats.exceptions import StopRequested
from chats.models import Turn
from chats.providers import current
from chats.queries import Progress, subagents
from chats.queries.sources import source_parts
from chats.queries.values import MODEL_CHANGED, remarks_on
from chats.states import FinishReason

#: Blocks that can be sent to every model. Thoughts and uses of provider tools are only for the model that made them.
FOR_ALL = frozenset({"text", "tool_use"})
FINISH_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
}


def finish_reason(agent: Agent, steps: int, stop_reason: str) -> FinishReason:
    """Return the finish reason of a turn after a model's stop reason and this many steps."""
    over_limit = steps > agent.max_steps
    return (
        FinishReason.OTHER
        if over_limit
        else FINISH_REASONS.get(stop_reason, FinishReason.OTHER)
    )


def with_change_of_model(
    finished: events.ModelFinished, history: Sequence[ModelMessage], provider: str
) -> events.ModelFinished:
    """Return the first answer of another model, with a note on earlier data that could not be sent to it."""
    last = next(
        (
            message
            for message in reversed(history)
            if message.role == "assistant" and message.model
        ),
        None,
    )
    if last is None or (last.provider, last.model) == (provider, finished.model):
        return finished
    made = [
        message for message in history if message.role == "assistant" and message.model
    ]
    others = [
        message
        for message in made
        if (message.provider, message.model) != (provider, finished.model)
    ]
    bound = sum(
        any(block.get("type") not in FOR_ALL for block in message.content)
        for message in others
    )
    changed = {"before": last.model, "now": finished.model, "answers": bound}
    return replace(
        finished, stop_details=finished.stop_details | {MODEL_CHANGED: changed}
    )


@asynccontextmanager
async def unless(stopped: asyncio.Future[Any]) -> AsyncIterator[None]:
    """Run a block, cut short when `stopped` is done. Raise StopRequested unless the block has ended anyway."""
    limit = asyncio.timeout(None)

    def cut(_: asyncio.Future[Any]) -> None:
        with suppress(RuntimeError):  # the block has ended in the same moment
            limit.reschedule(0)

    stopped.add_done_callback(cut)
    try:
        async with limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise StopRequested from None
        raise
    finally:
        stopped.remove_done_callback(cut)


@dataclass(slots=True)
class ModelSteps:
    """The steps that one runner adds to a turn, and what it has received of an answer since the last commit."""

    turn: Turn
    ledger: Ledger
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    metered: events.AnswerMetered | None = None
    step_open: bool = False

    @property
    def unfinished(self) -> actions.UnfinishedAnswer:
        """The uncommitted part of an answer."""
        texts = ["".join(pieces) for pieces in self.texts.values()]
        provider = current().name if self.metered is not None else ""
        return actions.UnfinishedAnswer(texts, self.metered, provider, self.calls)

    async def ask(
        self, agent: Agent, progress: Progress, stopped: asyncio.Future[Any]
    ) -> actions.Written:
        """Commit the model's next answer as the next step; return the result of the commit. `stopped` cuts it short.

        Raise StopRequested, ProviderError or LeaseLost.
        """
        if self.step_open:
            self.ledger.record(events.StepEnded(self.ledger.step))
        index = len(progress.steps)
        self.ledger.step = index
        self.step_open = True
        if index >= agent.max_steps:
            self.ledger.record(events.StepStarted(index))
            return await self._commit(
                agent, index, self._limit_answer(agent), "pausepoint"
            )
        if agent.gated:
            agent = agent.offered(progress.approved)
        provider = current()
        history = progress.history
        async with unless(stopped):
            answer = await self._stream(agent, provider, history, index)
        finished = with_change_of_model(answer, history, provider.name)
        return await self._commit(agent, index, finished, provider.name)

    async def _stream(
        self, agent: Agent, provider: Provider, history: list[ModelMessage], index: int
    ) -> events.ModelFinished:
        """Record the model's events; return its whole answer."""
        used_ids = partial(pool.run, subagents.used_call_ids, self.turn)
        async with aclosing(
            loop.stream_step(agent, provider, history, index, used_ids)
        ) as answer:
            async for event in answer:
                if isinstance(event, events.ModelFinished):
                    return event
                if isinstance(event, events.AnswerMetered):
                    self.metered = event
                    continue
                if isinstance(event, events.ToolInputStarted):
                    self.calls.append(event.tool_call_id)
                if isinstance(event, events.TextDelta):
                    self.texts.setdefault(event.id, []).append(event.text)
                self.ledger.record(event)
        raise ProviderError(
            gettext(
                "The model's answer ended before it was complete. Send your message again."
            )
        )

    async def _commit(
        self, agent: Agent, index: int, finished: events.ModelFinished, provider: str
    ) -> actions.Written:
        planned = loop.plan_calls(agent, finished.blocks)
        for call in planned:
            if finished.stop_reason != "tool_use":
                self.ledger.record(events.ToolFailed(call.tool_call_id, CUT_OFF))
            elif call.error_text == loop.TOO_MANY_CALLS:
                self.ledger.record(
                    events.ToolFailed(call.tool_call_id, call.error_text)
                )
        for call_id in set(self.calls) - {call.tool_call_id for call in planned}:
            self.ledger.record(events.ToolFailed(call_id, loop.HANDED_OVER))
        for part in source_parts(finished.blocks):
            self.ledger.record(events.SourceFound(part))
        for remark in remarks_on(finished.stop_reason, finished.stop_details):
            self.ledger.record(events.AnswerRemarked(remark))
        new = actions.NewStep(index, finished, planned, provider)
        written = await self.ledger.commit(self._storing(agent, new))
        self.texts = {}
        self.calls = []
        self.metered = None
        return written

    def _storing(self, agent: Agent, new: actions.NewStep) -> Commit:
        """Return the commit of a step, together with the pause or the end if that follows directly."""
        index = new.index
        planned = new.planned
        stop_reason = new.finished.stop_reason
        if not planned and stop_reason != "pause_turn":
            reason = finish_reason(agent, index + 1, stop_reason)
            return lambda claim, recorded, seq: actions.finish_turn(
                claim, reason, index, recorded, seq, new=new
            )
        # A call that failed at once is recorded in the step's commit, but a pause locks the workflow before it records.
        waits = bool(planned) and all(
            call.needs_person and not call.error_text for call in planned
        )
        if waits and stop_reason == "tool_use":
            return lambda claim, recorded, seq: actions.pause_turn(
                claim, agent, index, recorded, seq, new=new
            )
        return lambda claim, recorded, _: actions.commit_step(
            claim, index, new.finished, planned, recorded, provider=new.provider
        )

    def _limit_answer(self, agent: Agent) -> events.ModelFinished:
        """Record and return the closing answer after the agent has used up its steps."""
        text = f"I have taken {agent.max_steps} steps, which is as far as I may go in one turn. Tell me how to go on."
        for event in (
            events.TextStarted("limit"),
            events.TextDelta("limit", text),
            events.TextEnded("limit"),
        ):
            self.ledger.record(event)
        return events.ModelFinished([{"type": "text", "text": text}], "end_turn", "")
