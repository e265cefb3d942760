"""A runner that knows its turn reads it again after writes of others, and stores its delayed writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from approvals.db import pool
from approvals.states import Door
from chats import actions
from chats.actions import transitions
from chats.actions.calling import Execution
from chats.actions.locking import Claim, Recorded
from chats.actions.transitions import Transition
from chats.agent.demo import SHIPPING, support
from chats.agent.events import ModelFinished, TextDelta
from chats.agent.loop import plan_calls
from chats.engine.ledger import Ledger
from chats.exceptions import LeaseLost, StopRequested
from chats.models import Turn
from chats.states import FinishReason
from tests.support.chats.scenes import begin, text, use
from tests.support.chats.turns import make_chat, reload, results_on_record, say
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = ModelFinished([text("It is sunny.")], "end_turn", "m")
LAST = actions.NewStep(1, ANSWER, [], "p")


def running(*cities: str) -> tuple[Turn, Claim, list[Execution]]:
    """Return a turn whose runner has started a call for each city, the runner's claim, and the runs."""
    turn = say(make_chat(alice()), "weather")
    finished = ModelFinished([use("getWeather", {"city": city}) for city in cities], "tool_use", "m")
    planned = plan_calls(support, finished.blocks)
    written = actions.commit_step(begin(turn), 0, finished, planned, [], provider="p")
    return turn, written.claim, list(written.started)


def finishing(run: Execution, output: Any) -> Transition:
    return lambda progress: transitions.finish(progress, run.tool_call_id, run.attempt, output=output)


def calls_of(turn: Turn) -> list[tuple[str, int, Any]]:
    return list(turn.tool_calls.order_by("pk").values_list("state", "attempt", "output"))


def test_a_commit_after_a_late_result_keeps_the_result():
    turn, claim, (run,) = running("Ulm")
    assert actions.finish_call(run, output="late") is True
    written = actions.finish_turn(claim, FinishReason.STOP, 1, [], 1, new=LAST)
    assert (reload(turn).state, calls_of(turn)) == ("completed", [("succeeded", 1, "late")])
    assert [step.calls[0].output if step.calls else None for step in written.claim.known.progress.steps] == [
        "late",
        None,
    ]
    assert results_on_record(turn) == {run.tool_call_id: 1}


def test_a_commit_after_a_stop_notices_it():
    turn, claim, (run,) = running("Ulm")
    assert actions.stop_turn(turn.chat, by=turn.chat.owner, via=Door.CHAT) is True
    actions.store_progress(claim, [Recorded(1, 0, TextDelta("t", "It is"))])
    with pytest.raises(StopRequested):
        actions.finish_turn(claim, FinishReason.STOP, 1, [], 2, new=LAST)
    actions.end_stopped(claim, actions.UnfinishedAnswer(), 0, [], 2, begun=[run.tool_call_id])
    turn = reload(turn)
    assert (turn.state, turn.stopped_by, turn.steps.count()) == ("stopped", "alice", 1)
    assert turn.tool_calls.get().error_text == transitions.OUTCOME_UNKNOWN


def test_two_commits_on_the_same_version_are_both_stored():
    turn, claim, (first, second) = running("Ulm", "Bonn")
    actions.store_progress(claim.after(finishing(first, "sun")), [])
    actions.store_progress(claim.after(finishing(second, "rain")), [Recorded(1, 0, TextDelta("t", "Well."))])
    assert calls_of(turn) == [("succeeded", 1, "sun"), ("succeeded", 1, "rain")]
    assert (set(results_on_record(turn).values()), turn.events.count()) == ({1}, 1)


def test_what_a_refused_commit_has_not_stored_is_stored_by_the_next():
    turn, claim, (run,) = running("Ulm")
    actions.stop_turn(turn.chat, by=turn.chat.owner, via=Door.CHAT)
    held = claim.after(finishing(run, "sun"))
    with pytest.raises(StopRequested):
        actions.commit_step(held, 1, ANSWER, [], [], provider="p")
    assert calls_of(turn) == [("executing", 1, None)]
    actions.end_stopped(held, actions.UnfinishedAnswer(), 1, [], 1)
    assert calls_of(turn) == [("succeeded", 1, "sun")]


def pausing(ledger: Ledger) -> Awaitable[Any]:
    finished = ModelFinished([use("askUser", SHIPPING)], "tool_use", "m")
    new = actions.NewStep(1, finished, plan_calls(support, finished.blocks), "p")
    return ledger.commit(lambda claim, recorded, seq: actions.pause_turn(claim, support, 1, recorded, seq, new=new))


#: Each commit that a runner makes, and the state of the turn after it.
COMMITS: dict[str, tuple[Callable[[Ledger], Awaitable[Any]], str]] = {
    "flush": (lambda ledger: ledger.flush(), "running"),
    "step": (
        lambda ledger: ledger.commit(
            lambda claim, recorded, _: actions.commit_step(claim, 1, ANSWER, [], recorded, provider="p")
        ),
        "running",
    ),
    "pause": (pausing, "suspended"),
    "end": (
        lambda ledger: ledger.commit(
            lambda claim, recorded, seq: actions.finish_turn(claim, FinishReason.STOP, 1, recorded, seq, new=LAST)
        ),
        "completed",
    ),
    "failure": (
        lambda ledger: ledger.commit(
            lambda claim, recorded, seq: actions.fail_turn(claim, "no", 1, recorded, seq, begun=ledger.begun)
        ),
        "failed",
    ),
    "release": (lambda ledger: pool.run(actions.release_turn, ledger.claim, ledger.begun), "queued"),
}


def held(claim: Claim, run: Execution, output: Any, commit: Callable[[Ledger], Awaitable[Any]]) -> Ledger:
    """Have a runner hold the result of a run back until this commit; return its ledger."""

    async def story() -> Ledger:
        ledger = Ledger(claim, 0)
        ledger.begun.add(run.tool_call_id)
        ledger.apply(finishing(run, output))
        await commit(ledger)
        ledger.close()
        return ledger

    return asyncio.run(story())


@pytest.mark.parametrize("name", COMMITS)
def test_a_result_that_was_held_back_is_stored_by_the_next_commit(name):
    commit, state = COMMITS[name]
    turn, claim, (run,) = running("Ulm")
    held(claim, run, "sun", commit)
    assert (reload(turn).state, calls_of(turn)[0]) == (state, ("succeeded", 1, "sun"))
    assert results_on_record(turn)[run.tool_call_id] == 1


@pytest.mark.parametrize("name", COMMITS)
def test_a_result_that_was_held_back_is_dropped_if_the_call_has_one(name):
    commit, state = COMMITS[name]
    turn, claim, (run,) = running("Ulm")
    assert actions.finish_call(run, output="sun") is True
    held(claim, run, "rain", commit)
    assert (reload(turn).state, calls_of(turn)[0]) == (state, ("succeeded", 1, "sun"))
    assert results_on_record(turn)[run.tool_call_id] == 1


def test_a_result_that_was_held_back_is_dropped_if_the_call_runs_again():
    turn, claim, (run,) = running("Ulm")
    timed_out = actions.time_out_run(claim, run, [], idempotent=True).claim
    (again,) = actions.start_calls(timed_out, {run.name: support.tool(run.name)}, []).started
    ledger = held(claim, run, "sun", COMMITS["flush"][0])
    assert (again.attempt, calls_of(turn)) == (2, [("executing", 2, None)])
    held(ledger.claim, again, "rain", COMMITS["flush"][0])
    assert calls_of(turn) == [("succeeded", 2, "rain")]


def test_a_result_that_a_process_without_versions_has_stored_is_not_overwritten():
    turn, claim, (run,) = running("Ulm")
    turn.tool_calls.update(state="succeeded", output="stored by a version from before")
    with pytest.raises(LeaseLost):
        actions.store_progress(claim.after(finishing(run, "mine")), [])
    assert calls_of(turn) == [("succeeded", 1, "stored by a version from before")]
