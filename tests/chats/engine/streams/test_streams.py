"""Followers of a turn receive every event once and in order, in any process and whenever they join."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.db import pool
from chats import actions
from chats.actions.locking import Recorded
from chats.agent import events
from chats.engine import runner, streams
from chats.models import Turn
from tests.support import people
from tests.support.chats.claims import claim_turn
from tests.support.chats.scenes import paused
from tests.support.chats.turns import make_chat, say

pytestmark = pytest.mark.django_db(transaction=True)


async def collect(turn: Turn, after: int = 0) -> list[tuple[int, events.Event]]:
    return [item async for item in streams.follow(turn.pk, after)]


def text(found) -> str:
    return "".join(event.text for _, event in found if isinstance(event, events.TextDelta))


def numbers(found) -> list[int]:
    return [seq for seq, _ in found]


def test_two_followers_receive_the_same_complete_turn():
    turn = say(make_chat(people.alice()), "weather")

    async def story():
        followers = [asyncio.create_task(collect(turn)) for _ in range(2)]
        await runner.advance(turn.pk, asyncio.Event())
        return await asyncio.gather(*followers)

    one, two = asyncio.run(story())
    assert one == two
    assert numbers(one) == list(range(1, len(one) + 1))
    assert isinstance(one[-1][1], events.TurnEnded)
    assert [type(e).__name__ for _, e in one if type(e).__name__.startswith(("Step", "Tool"))] == [
        "StepStarted",
        "ToolInputStarted",
        "ToolInputDelta",
        "ToolInputDelta",
        "ToolInputReady",
        "ToolSucceeded",
        "StepEnded",
        "StepStarted",
        "StepEnded",
    ]


def test_a_follower_that_joins_late_receives_every_event():
    turn = say(make_chat(people.alice()), "hello")

    async def story():
        task = asyncio.create_task(runner.advance(turn.pk, asyncio.Event()))
        early = asyncio.create_task(collect(turn))
        while not await pool.run(turn.events.filter(seq__gte=8).exists):
            await asyncio.sleep(0.01)
        late = await collect(turn)
        await task
        return await early, late

    early, late = asyncio.run(story())
    assert early == late


def test_the_stream_ends_at_a_pause_and_continues_after_it():
    alice = people.alice()
    turn = say(make_chat(alice), "approve refund")
    asyncio.run(runner.advance(turn.pk, asyncio.Event()))
    first = asyncio.run(collect(turn))
    assert [type(event).__name__ for _, event in first[-3:]] == ["ApprovalRequested", "StepEnded", "TurnPaused"]
    assert asyncio.run(collect(turn, after=first[-1][0])) == []


def test_a_follower_in_another_process_reads_the_stored_events():
    turn = say(make_chat(people.alice()), "hello")
    claim, _, _ = claim_turn(turn.pk, owner="elsewhere")

    async def story():
        follower = asyncio.create_task(collect(turn))
        for seq, word in enumerate(["a", "b", "c"], 1):
            await pool.run(actions.store_progress, claim, [Recorded(seq, 0, events.TextDelta("t", word))])
        finished = events.ModelFinished([{"type": "text", "text": "abc"}], "end_turn", "m")
        await pool.run(actions.commit_step, claim, 0, finished, [], [], provider="p")
        await pool.run(actions.finish_turn, claim, "stop", 0, [], 4)
        return await asyncio.wait_for(follower, 60)

    found = asyncio.run(story())
    assert (numbers(found), text(found)) == ([1, 2, 3, 4, 5], "abc")


def test_events_of_an_uncommitted_step_are_deleted():
    turn = say(make_chat(people.alice()), "hello")
    claim, _, _ = claim_turn(turn.pk, owner="doomed")
    actions.store_progress(
        claim, [Recorded(1, 0, events.StepStarted(0)), Recorded(2, 0, events.TextDelta("t", "lost words"))]
    )
    Turn.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    asyncio.run(runner.advance(turn.pk, asyncio.Event()))
    found = asyncio.run(collect(turn))
    assert "lost words" not in text(found)
    assert numbers(found) == sorted(set(numbers(found)))
    assert min(numbers(found)) > 2


def test_events_are_stored_and_read_back_unchanged():
    known = [
        events.ToolInputReady("c", "pay", {"a": [1, None]}),
        events.TurnEnded("stop", stopped=True),
        events.TurnFailed("why"),
        events.ApprovalRequested("c", "r"),
        events.ApprovalRequested("c", "r", votes=True),
    ]
    assert [events.from_json(events.to_json(event)) for event in known] == known


async def test_a_stream_stored_up_to_a_pause_ends_without_waiting(monkeypatch):
    monkeypatch.setattr(streams, "POLL", 1e6)
    turn = await pool.run(lambda: paused(make_chat(people.alice())))
    async with asyncio.timeout(60):
        seen = [event async for _, event in streams.follow(turn.pk)]
    assert isinstance(seen[-1], events.TurnPaused)
