"""Leases: one runner at a time has a turn, and a late one can do no harm."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from approvals import signals
from approvals.background import sweep
from approvals.models import AuditEntry, Decision
from approvals.states import Verdict
from chats import actions, doorbell
from chats.actions.locking import Claim, Recorded
from chats.agent import events
from chats.agent.demo import support
from chats.agent.loop import plan_calls
from chats.engine import jobs
from chats.exceptions import LeaseLost
from chats.models import Turn
from chats.queries import open_requests
from chats.states import FinishReason
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import (
    converse,
    decide,
    make_chat,
    only_request,
    reload,
    results_on_record,
    run,
    say,
    start_call,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


def claim(turn: Turn, owner: str = "one") -> Claim:
    claimed = claim_turn(turn.pk, owner=owner)
    assert claimed is not None
    return claimed[0]


def lapse(turn: Turn) -> None:
    """Let the runner's lease expire."""
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def executing(owner, text: str):
    """Return a turn and the run of its approved call, which a dead runner had claimed."""
    turn = converse(owner, text)
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    execution = start_call(claim(turn), turn)
    assert execution is not None
    lapse(turn)
    return turn, execution


def test_only_one_of_many_runners_claims_a_turn():
    turn = say(make_chat(people.alice()), "hello")

    def try_it(number: int):
        try:
            return claim_turn(turn.pk, owner=str(number))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        won = [claimed for claimed in pool.map(try_it, range(16)) if claimed is not None]
    assert (len(won), reload(turn).attempt) == (1, 1)


def test_a_runner_that_lost_its_lease_cannot_commit():
    turn = say(make_chat(people.alice()), "hello")
    old = claim(turn)
    lapse(turn)
    new = claim(turn, "two")
    assert (old.attempt, new.attempt) == (1, 2)
    chunk = [Recorded(1, 0, events.TextDelta("t", "late"))]
    finished = events.ModelFinished([{"type": "text", "text": "late"}], "end_turn", "m")
    for late in (
        lambda: actions.store_progress(old, chunk),
        lambda: actions.commit_step(old, 0, finished, [], chunk, provider="p"),
        lambda: actions.pause_turn(old, support, 0, chunk, 2),
        lambda: actions.finish_turn(old, FinishReason.STOP, 0, chunk, 2),
        lambda: actions.fail_turn(old, "late", 0, chunk, 2),
        lambda: actions.end_stopped(old, actions.UnfinishedAnswer(["late"]), 0, chunk, 2),
    ):
        with pytest.raises(LeaseLost):
            late()
    assert (actions.renew_leases([old]), actions.release_turn(old)) == ((set(), set()), False)
    assert (turn.steps.count(), turn.events.count(), reload(turn).state) == (0, 0, "running")
    assert actions.renew_leases([new]) == ({turn.pk}, set())


def test_a_released_turn_is_queued_and_continues():
    turn = say(make_chat(people.alice()), "hello")
    assert actions.release_turn(claim(turn)) is True
    assert reload(turn).state == "queued"
    assert run(turn).state == "completed"


def test_an_idempotent_tool_runs_again_after_a_crash_with_the_same_id():
    alice = people.alice()
    turn = say(make_chat(alice), "weather")
    held = claim(turn)
    use = {"type": "tool_use", "id": "call_1", "name": "getWeather", "input": {"city": "Ulm"}}
    planned = plan_calls(support, [use])
    finished = events.ModelFinished([use], "tool_use", "m")
    (first,) = actions.commit_step(held, 0, finished, planned, [], provider="scripted").started
    lapse(turn)
    turn = run(turn)
    call = turn.tool_calls.get()
    assert (call.state, call.attempt, call.tool_call_id) == ("succeeded", 2, "call_1")
    assert actions.finish_call(first, output="late") is False
    assert (turn.tool_calls.get().output["city"], results_on_record(turn)) == ("Ulm", {"call_1": 1})


def test_a_person_is_asked_for_the_outcome_of_any_other_tool(oddball):
    turn, _ = executing(people.alice(), "pay")
    turn = run(turn)
    (question,) = open_requests(turn)
    assert (turn.state, turn.tool_calls.get().state, question.kind, question.priority) == (
        "suspended",
        "unknown",
        "recovery",
        "high",
    )
    assert agents.ran == []


@pytest.mark.parametrize(
    ("verdict", "given", "state", "ran", "output"),
    [
        (Verdict.APPROVE, {}, "succeeded", [("pay", (5, "Eve"))], {"paid": 5, "to": "Eve"}),
        (
            Verdict.RESPOND,
            {"answer": {"paid": 5, "seen": "at the bank"}},
            "succeeded",
            [],
            {"paid": 5, "seen": "at the bank"},
        ),
        (Verdict.REJECT, {"comment": "No money left."}, "failed", [], None),
    ],
)
def test_a_person_settles_an_unknown_outcome(oddball, verdict, given, state, ran, output):
    turn, _ = executing(people.alice(), "pay")
    turn = run(turn)
    decide(only_request(turn), people.make_person("dora", "decide_approvalrequest"), verdict, **given)
    turn = run(turn)
    call = turn.tool_calls.get()
    assert (turn.state, call.state, agents.ran, call.output) == ("completed", state, ran, output)
    assert list(results_on_record(turn).values()) == [1]


def test_a_late_result_settles_the_recovery(oddball):
    turn, execution = executing(people.alice(), "pay")
    turn = run(turn)
    assert actions.finish_call(execution, output={"paid": 5}) is True
    assert (reload(turn).state, open_requests(turn)) == ("queued", [])
    turn = run(turn)
    assert (turn.state, turn.tool_calls.get().output) == ("completed", {"paid": 5})
    closed = Decision.objects.order_by("pk").last()
    assert (closed.verdict, closed.by_id, closed.via, closed.answer) == ("respond", None, "system", {"paid": 5})
    assert actions.finish_call(execution, output="again") is False


def test_a_late_result_is_refused_after_the_call_has_started_again(oddball):
    turn, execution = executing(people.alice(), "pay")
    turn = run(turn)
    decide(only_request(turn), people.make_person("dora", "decide_approvalrequest"), Verdict.APPROVE)
    turn = run(turn)
    assert actions.finish_call(execution, output="late") is False
    assert turn.tool_calls.get().output == {"paid": 5, "to": "Eve"}


def test_an_input_other_than_the_approved_one_does_not_run(oddball):
    turn = converse(people.alice(), "pay")
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn.tool_calls.update(input={"amount": 5000, "to": "Mallory"})
    turn = run(turn)
    assert (agents.ran, turn.tool_calls.get().error_text) == (
        [],
        "The input is not the one that was approved, so it was not run.",
    )


def test_the_sweep_finds_turns_whose_notification_was_lost(oddball):
    alice, bob = people.alice(), people.bob()
    queued = say(make_chat(alice), "pay")
    lapsed = say(make_chat(alice), "pay")
    claim(lapsed)
    lapse(lapsed)
    held = say(make_chat(alice), "pay")
    answered = converse(alice, "pay")
    signals.decided.disconnect(dispatch_uid="chats.on_decided")
    try:
        decide(only_request(answered), bob, Verdict.APPROVE)
    finally:
        signals.decided.connect(jobs.on_decided, dispatch_uid="chats.on_decided")
    assert reload(answered).state == "suspended"
    claim(held)
    notified: list[int] = []
    doorbell.set_handlers(on_queued=lambda turn_id, below: notified.append(turn_id), on_stop=None)
    try:
        for _ in range(3):
            sweep.run_once()
    finally:
        doorbell.set_handlers(on_queued=None, on_stop=None)
    assert set(notified) == {queued.pk, lapsed.pk, answered.pk}
    assert run(answered).state == "completed"
    assert AuditEntry.objects.filter(event="request.decided").count() == 1
