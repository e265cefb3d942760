"""Stored threads of LangGraph: asks what they wait for, and resumes each pause in one process only."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command

from pausepoint import gate
from pausepoint.desk import LEASE, AsyncDesk, Desk, Outcome, Refused, Resume
from pausepoint.durable import Resumption, taken_by_other
from pausepoint.interrupts import Pause, Question, pause_of

#: How far back the pause is looked for from which a run was resumed that did not come to its end.
HISTORY = 100
#: By default LangGraph stores a step while the next one runs already, and a kill may lose it with what its tools did.
SURE: dict[str, Any] = {"durability": "sync"}


def resume_from_desk(
    graph: Any,
    desk: Desk,
    config: Mapping[str, Any],
    *,
    wait: bool = False,
    by: str = "",
    lease: int = LEASE,
    asked: Mapping[str, Any] | None = None,
    **run: Any,
) -> Resumption:
    """Ask people what a stored thread waits for, and resume it once they have decided; repeat that until it waits again or
    has ended.

    Any number of processes may call it for the same thread, at any time: each question is asked once, and one process
    resumes. `wait` waits for the decisions in place of returning `waiting`. `config` names the thread, `asked` are more fields
    of each request (the same each time), and `run` those of `graph.invoke`.
    """
    run, output = SURE | run, None
    while True:
        state = graph.get_state(config)
        history = graph.get_state_history(config, limit=HISTORY) if _was_cut_off(state) else [state]
        step = _Step.of(history, config)
        if step is None:
            return Resumption("finished", output)
        requests = [gate.ask(desk, question.title, {**question.fields, **(asked or {})}) for question in step.questions]
        waiting = [request["id"] for request in requests if request["status"] == "pending"]
        if waiting and not wait:
            return Resumption("waiting", output, requests)
        for request_id in waiting:
            desk.wait(request_id)
        with contextlib.ExitStack() as held:
            try:
                resume = held.enter_context(desk.resume(*(each["id"] for each in requests), by=by, lease=lease))
            except Refused as refused:
                return taken_by_other(refused, output)
            if (command := step.command(graph.get_state(config), resume)) is not DONE:
                output = graph.invoke(command, config, **run)
            for outcome, result in step.results(graph.get_state(config), resume):
                gate.report(desk, outcome, **result)


async def aresume_from_desk(
    graph: Any,
    desk: AsyncDesk,
    config: Mapping[str, Any],
    *,
    wait: bool = False,
    by: str = "",
    lease: int = LEASE,
    asked: Mapping[str, Any] | None = None,
    **run: Any,
) -> Resumption:
    """Like `resume_from_desk`, with `graph.ainvoke`."""
    run, output = SURE | run, None
    while True:
        history = [state := await graph.aget_state(config)]
        if _was_cut_off(state):
            history = [each async for each in graph.aget_state_history(config, limit=HISTORY)]
        step = _Step.of(history, config)
        if step is None:
            return Resumption("finished", output)
        requests = [
            await gate.aask(desk, question.title, {**question.fields, **(asked or {})}) for question in step.questions
        ]
        waiting = [request["id"] for request in requests if request["status"] == "pending"]
        if waiting and not wait:
            return Resumption("waiting", output, requests)
        await asyncio.gather(*map(desk.wait, waiting))
        async with contextlib.AsyncExitStack() as held:
            try:
                entered = desk.resume(*(each["id"] for each in requests), by=by, lease=lease)
                resume = await held.enter_async_context(entered)
            except Refused as refused:
                return taken_by_other(refused, output)
            if (command := step.command(await graph.aget_state(config), resume)) is not DONE:
                output = await graph.ainvoke(command, config, **run)
            for outcome, result in step.results(await graph.aget_state(config), resume):
                await gate.areport(desk, outcome, **result)


#: There is nothing to run: another process came this far before it died.
DONE = object()


def _was_cut_off(state: Any) -> bool:
    """Return whether a thread is between two steps, so that someone runs it now, or died while they did."""
    return bool(state.next) and not state.interrupts


@dataclass(frozen=True, slots=True)
class _Step:
    """One pause of a thread: all interrupts that were open at that time."""

    pauses: Sequence[Pause]
    #: The ids of the model's calls, in the order of the questions; empty where there is none.
    call_ids: Sequence[str]

    @classmethod
    def of(cls, history: Iterable[Any], config: Mapping[str, Any]) -> _Step | None:
        """Return the last pause, newest state first; None if there is none."""
        thread = str(config["configurable"]["thread_id"])
        state = next((each for each in history if each.interrupts), None)
        if state is None:
            return None
        pauses = [pause_of(interrupt, thread) for interrupt in state.interrupts]
        return cls(pauses, _call_ids(state, [question for pause in pauses for question in pause.questions]))

    @property
    def questions(self) -> list[Question]:
        return [question for pause in self.pauses for question in pause.questions]

    def command(self, state: Any, resume: Resume) -> Any:
        """Return what the graph is invoked with."""
        waiting = {interrupt.id for interrupt in state.interrupts}
        outcomes = iter(resume.outcomes.values())
        answers = {}
        for pause in self.pauses:
            decided = [next(outcomes) for _question in pause.questions]
            if pause.id in waiting:
                answers[pause.id] = pause.value(decided)
        if answers:
            return Command(resume=answers)
        return None if _was_cut_off(state) else DONE

    def results(self, state: Any, resume: Resume) -> Iterator[tuple[Outcome, dict[str, Any]]]:
        """Return what approved calls have returned."""
        messages = {getattr(message, "tool_call_id", None): message for message in _messages(state)}
        for outcome, call_id in zip(resume.outcomes.values(), self.call_ids, strict=True):
            if outcome.approved and call_id and (message := messages.get(call_id)) is not None:
                failed = getattr(message, "status", "") == "error"
                yield outcome, {"error": RuntimeError(str(message.text))} if failed else {"output": message.content}


def _call_ids(state: Any, questions: Sequence[Question]) -> list[str]:
    """Return the ids of the calls that are asked about: a batched request does not name them."""
    last: list[Any] = next(
        (made for each in reversed(_messages(state)) if (made := getattr(each, "tool_calls", None))), []
    )
    left, ids = list(last), []
    for question in questions:
        wanted = question.name, question.args
        same = next((call for call in left if question.name and (call["name"], call["args"]) == wanted), None)
        if same is not None:
            left.remove(same)
        ids.append(question.call_id or (str(same["id"]) if same is not None else ""))
    return ids


def _messages(state: Any) -> list[Any]:
    values = state.values
    messages = values.get("messages") if isinstance(values, Mapping) else None
    return messages if isinstance(messages, list) else []
