"""The stored stream reports each tool result once, for every place of a crash and every way to close the call."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from approvals.db import pool
from approvals.states import Verdict
from chats import actions
from chats.actions.calling import Execution
from chats.actions.locking import Claim
from chats.agent import events, registry
from chats.agent.loop import plan_calls
from chats.engine import runner, streams
from chats.engine.ledger import Ledger
from chats.models import Turn
from chats.queries import open_requests
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.claims import claim_turn
from tests.support.chats.scenes import begin, use
from tests.support.chats.turns import chunks, converse, decide, make_chat, only_request, reload, run, say, start_call

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def with_the_oddball(settings):
    settings.HITL_AGENTS = [agents.PATH, agents.BOSS]
    agents.ran.clear()


def lost(turn: Turn) -> None:
    """Let the turn's runner die."""
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(minutes=1))


def stepped(turn: Turn, *blocks: dict[str, object]) -> Claim:
    """Have a runner commit a step with these calls."""
    claim, agent = begin(turn), registry.get(settings.HITL_AGENTS, turn.agent)
    finished = events.ModelFinished(list(blocks), "tool_use", "m")
    actions.commit_step(claim, 0, finished, plan_calls(agent, finished.blocks), [], provider="p")
    return claim


def executing(turn: Turn, tool: str = "count") -> Execution:
    claim = stepped(turn, use(tool, {}))
    return start_call(claim, turn)


def reported(turn: Turn) -> list[tuple[str, object]]:
    """Return every result in the stored stream as (toolCallId, output or error)."""
    found = [chunk for name in ("ToolSucceeded", "ToolFailed") for chunk in chunks(turn, name)]
    return [(chunk["tool_call_id"], chunk.get("output", chunk.get("error_text"))) for chunk in found]


def event_names(turn: Turn) -> list[str]:
    async def collect() -> list[str]:
        return [type(event).__name__ async for _, event in streams.follow(turn.pk)]

    return asyncio.run(collect())


def test_the_next_runner_reports_the_result_of_a_dead_runner():
    turn = say(make_chat(people.alice()), "for ever")
    execution = executing(turn)
    assert actions.finish_call(execution, output=1)
    assert reported(turn) == []
    lost(turn)
    turn = run(turn)
    assert reported(turn)[0] == (execution.tool_call_id, 1)
    assert len(reported(turn)) == len({call_id for call_id, _ in reported(turn)}) == turn.tool_calls.count()


def test_a_dead_runners_result_is_reported_before_the_next_step():
    turn = say(make_chat(people.alice()), "unknown tool")
    actions.finish_call(executing(turn), output=1)
    lost(turn)
    found = event_names(run(turn))
    assert found.index("ToolSucceeded") < found.index("StepStarted") < found.index("TextDelta")


def test_a_dead_runners_error_is_reported_as_an_error():
    turn = say(make_chat(people.alice()), "hello")
    execution = executing(turn)
    actions.finish_call(execution, error_text="The bank said no.")
    lost(turn)
    assert reported(run(turn)) == [(execution.tool_call_id, "The bank said no.")]


def test_a_result_is_not_reported_twice_after_a_takeover():
    turn = say(make_chat(people.alice()), "mixed")
    turn = run(turn)
    before = reported(turn)
    assert len(before) == 1
    bob = people.bob()
    for request in open_requests(turn):
        answers = request.kind == "question"
        decide(request, bob, Verdict.RESPOND if answers else Verdict.APPROVE, **({"answer": "A"} if answers else {}))
    turn = run(turn)
    assert turn.state == "completed"
    ids = [call_id for call_id, _ in reported(turn)]
    # The stream does not report answers of people.
    ran = turn.tool_calls.filter(attempt__gt=0).values_list("tool_call_id", flat=True)
    assert sorted(ids) == sorted(ran)


def test_a_result_that_settles_a_recovery_is_reported_when_the_turn_continues():
    turn = say(make_chat(people.alice()), "hello")
    execution = executing(turn, "count")
    lost(turn)
    turn = run(turn)
    assert (turn.state, reported(turn)) == ("suspended", [])
    assert actions.finish_call(execution, output=1)
    assert reported(run(turn)) == [(execution.tool_call_id, 1)]


def test_an_outcome_entered_by_a_person_is_reported():
    turn = say(make_chat(people.alice()), "hello")
    execution = executing(turn, "count")
    lost(turn)
    turn = run(turn)
    decide(only_request(turn), people.bob(), Verdict.RESPOND, answer=7)
    assert reported(run(turn)) == [(execution.tool_call_id, 7)]


def test_a_late_result_is_reported_by_the_current_runner():
    turn = say(make_chat(people.alice()), "hello")
    execution = executing(turn, "count")
    lost(turn)
    claim, taken, last = claim_turn(turn.pk, owner="another")

    async def story() -> None:
        other = runner.Run(taken, Ledger(claim, last), asyncio.Event())
        # The runner has read the call as open, and will read it again.
        assert await pool.run(actions.finish_call, execution, output=1)
        await other.drive()
        other.ledger.close()

    asyncio.run(story())
    assert (reload(turn).state, reported(turn)) == ("completed", [(execution.tool_call_id, 1)])


def test_a_result_during_a_commit_gets_its_own_number():
    turn = say(make_chat(people.alice()), "hello")
    claim, _, last = claim_turn(turn.pk, owner="one")

    async def story() -> tuple[int, int, events.Event]:
        ledger = Ledger(claim, last)
        ledger.record(events.StepStarted(0))

        def commit(claim, recorded, next_seq):
            # The tool ends on the loop while this commit is running.
            loop.call_soon_threadsafe(ledger.report, events.ToolSucceeded("call", 1))
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
            return actions.fail_turn(claim, "over", 0, recorded, next_seq)

        loop = asyncio.get_running_loop()
        closing = (await ledger.commit(commit)).added
        ledger.close()
        return closing[-1].seq, ledger._kept[0].seq, ledger._kept[0].event

    ending, late, event = asyncio.run(story())
    assert (late, event) == (ending + 1, events.ToolSucceeded("call", 1))


def test_a_sub_agents_output_is_reported_after_its_caller_crashed():
    turn = say(actions.open_chat(owner=people.alice(), agent=agents.boss), "accountant count")
    claim = stepped(turn, use("accountant", {"task": "count"}))
    call = turn.tool_calls.get()
    actions.delegate_calls(claim, agents.boss, [])
    run(Turn.objects.get(parent_call=call))
    actions.settle_delegated(claim)
    assert reported(turn) == []
    lost(turn)
    assert reported(run(turn)) == [(call.tool_call_id, "Counted.")]


def test_a_call_with_an_unapproved_input_is_reported_as_failed():
    turn = converse(people.alice(), "pay and stop")
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn.tool_calls.update(input={"amount": 5000, "to": "Mallory"})
    (found,) = reported(run(turn))
    assert found[1] == "The input is not the one that was approved, so it was not run."
