"""Ask the pending questions of a stored thread, and resume each of its pauses in one process only."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from pausepoint import gate
from pausepoint.desk import LEASE, AsyncDesk, Desk, DeskError, Refused, Resume
from pausepoint.durable import Resumption, taken_by_other
from pausepoint.threads.steps import (
    Step,
    check_not_repeated,
    inner_configs,
    is_copy,
    was_cut_off,
)
from pausepoint.threads.tool_guard import Blocked
from pausepoint.threads.tool_nodes import check_answers_reach_their_calls

#: How far back to look for the pause from which an interrupted run was resumed.
HISTORY = 100
#: By default LangGraph stores a step while the next one is already running, and a kill may lose it with its tools' results.
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
    """Ask people the pending questions of a stored thread, and resume it once they have decided; repeat until it waits again or
    has ended.

    Any number of processes may call it for the same thread, at any time: each question is asked once, and one process resumes.
    `wait`: wait for the decisions instead of returning `waiting`. `config` names the thread, `asked` are additional fields of
    each request (the same each time), and `run` arguments of `graph.invoke`.

    A tool that would run against a decision is stopped before it begins, and the model is told why. A node that cannot use an
    answer is asked about again. Raise CannotGoOn if something would run unapproved or twice; RanRejected if it did.
    """
    run, output = SURE | run, None
    while True:
        state = graph.get_state(config)
        history = (
            list(graph.get_state_history(config, limit=HISTORY))
            if was_cut_off(state) or is_copy(state)
            else [state]
        )
        step = Step.of(history, config)
        if step is None:
            return Resumption("finished", output)
        if graph.checkpointer and state.interrupts:
            check_answers_reach_their_calls(
                graph, graph.get_state(config, subgraphs=True)
            )
            check_not_repeated(
                graph.checkpointer.get_tuple(each) for each in inner_configs(state)
            )
        requests = [
            gate.ask(desk, each.title, step.fields(each, asked or {}))
            for each in step.questions
        ]
        waiting = [
            request["id"] for request in requests if request["status"] == "pending"
        ]
        if waiting and not wait:
            return Resumption("waiting", output, requests)
        for request_id in waiting:
            desk.wait(request_id)
        with contextlib.ExitStack() as held:
            try:
                resume = held.enter_context(
                    desk.resume(*(each["id"] for each in requests), by=by, lease=lease)
                )
            except Refused as refused:
                return taken_by_other(refused, output)
            output = _advance(graph, desk, config, step, resume, run, output)


def _advance(
    graph: Any,
    desk: Desk,
    config: Mapping[str, Any],
    step: Step,
    resume: Resume,
    run: Mapping[str, Any],
    output: Any,
) -> Any:
    """Give the graph the decisions, run it until it pauses or ends, and report the results of approved calls."""
    guard = step.guard(resume)
    rounds = 0
    while (advance := step.advance(graph.get_state(config), resume, guard)) is not None:
        try:
            if advance.update:
                graph.update_state(config, *advance.update)
            output = graph.invoke(advance.command, guard.watching(config), **run)
            break
        except BaseException as error:
            state = graph.get_state(config)
            goes_on = isinstance(error, Blocked) or (
                isinstance(error, Exception) and step.takes_over(state, guard)
            )
            if goes_on and (rounds := rounds + 1) <= len(step.questions):
                # The decisions are written to the thread in the next round, and the graph continues from there.
                continue
            with contextlib.suppress(DeskError):
                for outcome, result in step.failures(state, resume, guard, error):
                    gate.report(desk, outcome, **result)
            raise
    state = graph.get_state(config)
    for outcome, result in step.results(state, guard):
        gate.report(desk, outcome, **result)
    step.check(state, guard)
    return output


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
        if was_cut_off(state) or is_copy(state):
            history = [
                each async for each in graph.aget_state_history(config, limit=HISTORY)
            ]
        step = Step.of(history, config)
        if step is None:
            return Resumption("finished", output)
        if graph.checkpointer and state.interrupts:
            check_answers_reach_their_calls(
                graph, await graph.aget_state(config, subgraphs=True)
            )
            check_not_repeated(
                [
                    await graph.checkpointer.aget_tuple(each)
                    for each in inner_configs(state)
                ]
            )
        requests = [
            await gate.aask(desk, each.title, step.fields(each, asked or {}))
            for each in step.questions
        ]
        waiting = [
            request["id"] for request in requests if request["status"] == "pending"
        ]
        if waiting and not wait:
            return Resumption("waiting", output, requests)
        await asyncio.gather(*map(desk.wait, waiting))
        async with contextlib.AsyncExitStack() as held:
            try:
                entered = desk.resume(
                    *(each["id"] for each in requests), by=by, lease=lease
                )
                resume = await held.enter_async_context(entered)
            except Refused as refused:
                return taken_by_other(refused, output)
            output = await _aadvance(graph, desk, config, step, resume, run, output)


async def _aadvance(
    graph: Any,
    desk: AsyncDesk,
    config: Mapping[str, Any],
    step: Step,
    resume: Resume,
    run: Mapping[str, Any],
    output: Any,
) -> Any:
    """Like `_advance`."""
    guard = step.guard(resume)
    rounds = 0
    while (
        advance := step.advance(await graph.aget_state(config), resume, guard)
    ) is not None:
        try:
            if advance.update:
                await graph.aupdate_state(config, *advance.update)
            output = await graph.ainvoke(advance.command, guard.watching(config), **run)
            break
        except BaseException as error:
            state = await graph.aget_state(config)
            goes_on = isinstance(error, Blocked) or (
                isinstance(error, Exception) and step.takes_over(state, guard)
            )
            if goes_on and (rounds := rounds + 1) <= len(step.questions):
                continue
            with contextlib.suppress(DeskError):
                for outcome, result in step.failures(state, resume, guard, error):
                    await gate.areport(desk, outcome, **result)
            raise
    state = await graph.aget_state(config)
    for outcome, result in step.results(state, guard):
        await gate.areport(desk, outcome, **result)
    step.check(state, guard)
    return output
