"""The stored stream stays complete although a crash of the database may lose asynchronous commits.

The tests simulate a crash by deleting the rows that it would lose: the events since the last synchronous commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.db import pool
from chats import actions, queries
from chats.actions.claiming import SEQ_GAP
from chats.actions.locking import Claim
from chats.agent import events
from chats.agent.events import ModelFinished, TextDelta
from chats.engine import runner, streams
from chats.engine.ledger import Ledger
from chats.exceptions import StopRequested
from chats.models import Turn
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import make_chat, say
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = [f"word{number} " for number in range(8)]
FINISHED = ModelFinished([{"type": "text", "text": "".join(WORDS)}], "end_turn", "m")


def stored(turn: Turn) -> list[int]:
    return [seq for seq, _event in queries.events_after(turn.pk, 0)]


def text(turn: Turn) -> str:
    return "".join(event.get("text", "") for _seq, event in queries.events_after(turn.pk, 0))


async def flushed(ledger: Ledger) -> None:
    await ledger.flush()


async def lose(turn: Turn, after: int) -> None:
    """Delete every event after this number, as a crash of the database would."""
    await pool.run(turn.events.filter(seq__gt=after).delete)


def told_by(story: Callable[[Turn, Claim, Ledger], Awaitable[None]]) -> Turn:
    """Return a turn whose runner does this."""
    turn = say(make_chat(alice()), "hello")
    claim, _, last = claim_turn(turn.pk, owner="survivor")

    async def tell() -> None:
        ledger = Ledger(claim, last)
        ledger.record(events.StepStarted(0))
        for word in WORDS[:4]:
            ledger.record(TextDelta("t", word))
        await flushed(ledger)
        assert len(await pool.run(stored, turn)) == 5
        await story(turn, claim, ledger)
        ledger.close()

    asyncio.run(tell())
    return turn


def commit_step() -> Callable[..., actions.Written]:
    return lambda claim, recorded, _: actions.commit_step(claim, 0, FINISHED, [], recorded, provider="p")


def test_the_commit_of_a_step_restores_events_lost_in_a_crash():
    async def story(turn: Turn, claim: Claim, ledger: Ledger) -> None:
        await lose(turn, 2)
        for word in WORDS[4:]:
            ledger.record(TextDelta("t", word))
        await ledger.commit(commit_step())

    turn = told_by(story)
    assert (stored(turn), text(turn)) == ([*range(1, 10)], "".join(WORDS))


def test_the_next_batch_restores_events_lost_in_a_crash():
    async def story(turn: Turn, claim: Claim, ledger: Ledger) -> None:
        await lose(turn, 0)
        ledger.record(TextDelta("t", WORDS[4]))
        await flushed(ledger)

    turn = told_by(story)
    assert (stored(turn), text(turn)) == ([*range(1, 7)], "".join(WORDS[:5]))


def test_the_end_of_a_stopped_turn_restores_events_lost_in_a_crash():
    async def story(turn: Turn, claim: Claim, ledger: Ledger) -> None:
        await lose(turn, 1)
        await pool.run(Turn.objects.filter(pk=turn.pk).update, stopped=True)
        with pytest.raises(StopRequested):
            await ledger.commit(commit_step())
        left = actions.UnfinishedAnswer(["".join(WORDS[:4])])
        await ledger.commit(lambda claim, recorded, seq: actions.end_stopped(claim, left, 0, recorded, seq))

    turn = told_by(story)
    assert stored(turn) == [*range(1, len(stored(turn)) + 1)]
    assert text(turn).startswith("".join(WORDS[:4]))
    assert turn.events.last().chunk["stopped"] is True


def test_durably_committed_events_are_not_kept_in_memory():
    async def story(turn: Turn, claim: Claim, ledger: Ledger) -> None:
        await ledger.commit(commit_step())
        assert ledger._kept == []

    assert len(stored(told_by(story))) == 5


def test_a_takeover_after_a_crash_uses_no_number_that_followers_have_read():
    turn = say(make_chat(alice()), "hello")
    claim, _, _ = claim_turn(turn.pk, owner="gone with the database")
    seen = [(number, TextDelta("t", word)) for number, word in enumerate(WORDS, 2)]
    # A follower has read all events; the database has lost them, and the runner has crashed.
    assert stored(turn) == []
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(minutes=1))

    async def follow_on() -> list[events.Event]:
        return [event async for _, event in streams.follow(turn.pk, seen[-1][0])]

    async def story() -> list[events.Event]:
        following = asyncio.create_task(follow_on())
        await runner.advance(turn.pk, asyncio.Event())
        return await following

    received = asyncio.run(asyncio.wait_for(story(), 30))
    assert (received[0], type(received[-1])) == (events.StepStarted(0), events.TurnEnded)
    assert stored(turn)[0] == SEQ_GAP + 1
    assert claim.attempt == 1


def test_a_crash_that_lost_all_events_since_a_pause_reuses_no_number():
    turn = say(make_chat(alice()), "approve refund")
    asyncio.run(runner.advance(turn.pk, asyncio.Event()))
    last = stored(turn)[-1]
    Turn.objects.filter(pk=turn.pk).update(state="queued")
    claim_turn(turn.pk, owner="gone with the database, and with what followers have read")
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    _, _, found = claim_turn(turn.pk, owner="next")
    assert found == last + SEQ_GAP


def test_numbers_continue_without_a_gap_after_a_pause():
    turn = say(make_chat(alice()), "approve refund")
    asyncio.run(runner.advance(turn.pk, asyncio.Event()))
    last = stored(turn)[-1]
    Turn.objects.filter(pk=turn.pk).update(state="queued")
    _, _, found = claim_turn(turn.pk, owner="next")
    assert found == last
