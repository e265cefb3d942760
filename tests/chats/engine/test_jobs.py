"""The number of turns that a process runs at the same time, from the queue and from the sweep."""

from __future__ import annotations

import asyncio

import pytest

from approvals.db import pool
from approvals.states import Door
from chats import actions, doorbell
from chats.engine import sweep
from chats.engine.jobs import Jobs
from chats.models import Turn
from chats.states import TurnState
from tests.support.chats import agents
from tests.support.chats.turns import make_chat, say
from tests.support.machines import PATIENCE
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


def in_state(state: TurnState) -> list[int]:
    return list(Turn.objects.filter(state=state).order_by("pk").values_list("pk", flat=True))


async def until_running(*expected: int) -> None:
    while await pool.run(in_state, TurnState.RUNNING) != sorted(expected):
        await asyncio.sleep(0.01)


async def stop(turn: Turn) -> None:
    await pool.run(actions.stop_turn, turn.chat, by=turn.chat.owner, via=Door.CHAT)


def test_turns_wait_for_a_free_place(settings):
    settings.HITL_AGENTS = [agents.PATH]
    asker = alice()
    turns = [say(make_chat(asker), "murmur") for _ in range(4)]
    first, second, third, fourth = turns

    async def story() -> None:
        jobs = Jobs(asyncio.get_running_loop(), at_once=2)
        jobs.open()
        try:
            # The sweep finds all four; two have to wait for it, or for another process.
            await pool.run(sweep.wake_stuck_turns)
            await until_running(first.pk, second.pk)
            await pool.run(sweep.wake_stuck_turns)
            queued = asyncio.create_task(jobs.run(third.pk))
            await pool.run(sweep.wake_stuck_turns)
            assert (jobs.count(), await pool.run(in_state, TurnState.QUEUED)) == (2, [third.pk, fourth.pk])
            # A turn from the queue gets the next free place without another sweep.
            await stop(first)
            await until_running(second.pk, third.pk)
            await stop(second)
            while jobs.count() == 2:
                await asyncio.sleep(0.01)
            await pool.run(sweep.wake_stuck_turns)
            await until_running(third.pk, fourth.pk)
            await stop(third)
            await queued
            await stop(fourth)
        finally:
            await jobs.drain(PATIENCE)

    asyncio.run(asyncio.wait_for(story(), 2 * PATIENCE))
    assert in_state(TurnState.STOPPED) == [turn.pk for turn in turns]


def test_waiting_turns_do_not_delay_a_shutdown(settings):
    settings.HITL_AGENTS = [agents.PATH]
    asker = alice()
    running, waiting = (say(make_chat(asker), "murmur") for _ in range(2))

    async def story() -> None:
        jobs = Jobs(asyncio.get_running_loop(), at_once=1)
        jobs.open()
        one = asyncio.create_task(jobs.run(running.pk))
        await until_running(running.pk)
        other = asyncio.create_task(jobs.run(waiting.pk))
        await jobs.drain(0)
        await asyncio.gather(one, other)

    asyncio.run(asyncio.wait_for(story(), 2 * PATIENCE))
    assert in_state(TurnState.QUEUED) == [running.pk, waiting.pk]


def test_turns_that_no_runner_takes_hold_up_no_others(monkeypatch):
    monkeypatch.setattr(sweep, "BATCH", 2)
    asker, notified = alice(), []
    turns = [say(make_chat(asker), "hello") for _ in range(5)]
    doorbell.set_handlers(on_queued=lambda turn_id, below: notified.append(turn_id), on_stop=None)
    try:
        for _ in range(3):
            sweep.wake_stuck_turns()
    finally:
        doorbell.set_handlers(on_queued=None, on_stop=None)
    assert notified == [turn.pk for turn in turns]


def test_a_sub_agent_needs_no_place_while_its_caller_keeps_one(settings):
    settings.HITL_AGENTS = [agents.BOSS]
    asker = alice()
    turns = [say(make_chat(asker), "accountant ask") for _ in range(2)]

    async def story() -> None:
        jobs = Jobs(asyncio.get_running_loop(), at_once=1)
        jobs.open()
        try:
            while (await pool.run(in_state, TurnState.SUSPENDED))[:2] != [turn.pk for turn in turns]:
                await pool.run(sweep.wake_stuck_turns)
                await asyncio.sleep(0.01)
        finally:
            await jobs.drain(PATIENCE)

    asyncio.run(asyncio.wait_for(story(), 2 * PATIENCE))
    assert len(in_state(TurnState.SUSPENDED)) == 4
