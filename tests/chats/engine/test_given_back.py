"""An approved call that was claimed and never begun is given back: its outcome is known, because it never ran."""

from __future__ import annotations

import asyncio
import threading

import pytest

from approvals.db import pool
from approvals.models import ApprovalRequest
from approvals.states import Verdict
from chats import actions, queries
from chats.engine import runner
from chats.models import Turn
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.turns import converse, decide, only_request, reload, results_on_record, run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def with_an_oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


def approved() -> Turn:
    """Have Bob approve Alice's payment; return its turn, which waits for a runner."""
    turn = converse(people.alice(), "pay")
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    return turn


def call_of(turn: Turn) -> tuple[str, int]:
    call = turn.tool_calls.get()
    return call.state, call.attempt


def paid_once(turn: Turn) -> bool:
    turn = run(turn)
    assert (turn.state, call_of(turn)) == ("completed", ("succeeded", 1))
    assert set(results_on_record(turn).values()) == {1}
    assert list(ApprovalRequest.objects.values_list("kind", flat=True)) == ["approval"]
    return agents.ran == [("pay", (5, "Eve"))]


def test_a_runner_that_hands_its_turn_over_gives_back_what_it_has_not_begun():
    turn = approved()
    claim, _, _, started = actions.begin_run(turn.pk, owner="one that hands over")
    assert (call_of(turn), len(started)) == (("executing", 1), 1)
    assert actions.release_turn(claim) is True
    assert call_of(turn) == ("ready", 0)
    assert paid_once(turn)


def test_what_has_begun_is_not_given_back():
    turn = approved()
    claim, _, _, (execution,) = actions.begin_run(turn.pk, owner="one that hands over")
    actions.release_turn(claim, [execution.tool_call_id])
    assert call_of(turn) == ("executing", 1)
    turn = run(turn)
    assert (turn.state, only_request(turn).kind, agents.ran) == ("suspended", "recovery", [])


def test_who_has_lost_the_turn_gives_nothing_back():
    turn = approved()
    claim, _, _, _ = actions.begin_run(turn.pk, owner="one that was frozen")
    Turn.objects.filter(pk=turn.pk).update(attempt=claim.attempt + 1)
    assert actions.release_turn(claim) is False
    assert call_of(turn) == ("executing", 1)


def test_a_runner_that_is_cancelled_while_it_claims_hands_the_turn_over(monkeypatch):
    turn = approved()
    reading, go_on = threading.Event(), threading.Event()
    progress_of = queries.progress_of

    def slowly(turn: Turn) -> queries.Progress:
        reading.set()
        assert go_on.wait(60)
        return progress_of(turn)

    async def story() -> None:
        running = asyncio.create_task(runner.advance(turn.pk, asyncio.Event()))
        await pool.run(reading.wait, 60)
        running.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    monkeypatch.setattr(queries, "progress_of", slowly)
    asyncio.run(story())
    monkeypatch.undo()
    assert (reload(turn).state, call_of(turn), agents.ran) == ("queued", ("ready", 0), [])
    assert paid_once(turn)


def test_a_turn_that_is_stopped_before_its_call_begins_says_that_it_did_not_run():
    turn = approved()
    stop = asyncio.Event()
    stop.set()
    asyncio.run(runner.advance(turn.pk, stop))
    call = turn.tool_calls.get()
    assert (call.state, call.attempt, call.error_text) == (
        "cancelled",
        0,
        "The turn was stopped before this was done.",
    )
    assert (reload(turn).state, agents.ran) == ("stopped", [])
