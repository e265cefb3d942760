"""Turns that the process which answers a person or a program begins or continues itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from approvals import signals
from approvals.db import pool
from approvals.models import ApprovalRequest
from approvals.states import Verdict
from chats import actions, doorbell, queries
from chats.actions.claiming import Begun
from chats.engine import jobs, runner
from chats.engine.jobs import Jobs
from chats.models import Turn
from chats.queries import open_requests
from tests.support.chats import agents
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import converse, decide, make_chat, only_request, reload, run, say
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

HERE = "this process"


@pytest.fixture(autouse=True)
def oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


@pytest.fixture
def begun() -> Iterator[list[Begun]]:
    """The runs that were begun in this process; a test has it run turns with `run_turns_here`."""
    runs: list[Begun] = []
    yield runs
    doorbell.set_handlers(on_queued=None, on_stop=None)


def run_turns_here(begun: list[Begun], queued: list[int] | None = None) -> None:
    doorbell.set_handlers(
        on_queued=lambda turn_id, below: (queued if queued is not None else []).append(turn_id),
        on_stop=None,
        on_claimed=begun.append,
        owner=HERE,
    )


def as_stored(turn: Turn) -> tuple[str, int, str]:
    turn = reload(turn)
    return turn.state, turn.attempt, turn.lease_owner


def calls_of(turn: Turn) -> list[tuple[str, int]]:
    return list(turn.tool_calls.order_by("pk").values_list("state", "attempt"))


def go_on(begun: Begun) -> Turn:
    asyncio.run(runner.go_on(begun, asyncio.Event()))
    return reload(begun[1])


def decided_unnoticed(requests: list[ApprovalRequest]) -> None:
    """Have Bob approve these requests; the notifications get lost."""
    signals.decided.disconnect(dispatch_uid="chats.on_decided")
    try:
        for request, approver in zip(requests, [bob()] * len(requests), strict=True):
            decide(request, approver, Verdict.APPROVE)
    finally:
        signals.decided.connect(jobs.on_decided, dispatch_uid="chats.on_decided")


def test_a_message_begins_its_turn_where_turns_run(begun):
    run_turns_here(begun)
    turn = say(make_chat(alice()), "pay")
    assert as_stored(turn) == ("running", 1, HERE)
    (run_here,) = begun
    assert (run_here[0].turn_id, run_here[0].attempt, run_here[2:]) == (turn.pk, 1, (0, ()))
    assert claim_turn(turn.pk, owner="another") is None
    assert go_on(run_here).state == "suspended"


def test_a_message_queues_its_turn_where_none_runs(begun):
    turn = say(make_chat(alice()), "pay")
    assert (as_stored(turn), begun) == (("queued", 0, ""), [])
    assert run(turn).state == "suspended"


def test_a_decision_continues_its_turn_where_turns_run(begun):
    turn = converse(alice(), "pay")
    run_turns_here(begun)
    decide(only_request(turn), bob(), Verdict.APPROVE)
    assert (as_stored(turn), calls_of(turn)) == (("running", 2, HERE), [("executing", 1)])
    (run_here,) = begun
    assert [started.input for started in run_here[3]] == [{"amount": 5, "to": "Eve"}]
    assert (go_on(run_here).state, agents.ran) == ("completed", [("pay", (5, "Eve"))])


def test_a_decision_queues_its_turn_where_none_runs(begun):
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.APPROVE)
    assert (as_stored(turn)[0], calls_of(turn), begun) == ("queued", [("ready", 0)], [])


def test_a_turn_that_still_has_to_wait_keeps_what_was_decided(begun):
    turn = converse(alice(), "pay twice")
    run_turns_here(begun)
    first, second = open_requests(turn)
    approver = bob()
    decide(first, approver, Verdict.REJECT, comment="No.")
    assert (as_stored(turn)[0], calls_of(turn), begun) == ("suspended", [("denied", 0), ("waiting", 0)], [])
    decide(second, approver, Verdict.APPROVE)
    (run_here,) = begun
    assert calls_of(turn) == [("denied", 0), ("executing", 1)]
    assert (go_on(run_here).state, agents.ran) == ("completed", [("pay", (2, "B"))])


def test_two_decisions_at_once_continue_a_turn_once(begun):
    turn = converse(alice(), "pay twice")
    decided_unnoticed(open_requests(turn))
    queued: list[int] = []
    run_turns_here(begun, queued)

    def wake(_: int) -> None:
        try:
            actions.wake_turn(turn.pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(wake, range(2)))
    (run_here,) = begun
    assert (as_stored(turn), len(run_here[3]), queued) == (("running", 2, HERE), 2, [])
    assert (go_on(run_here).state, len(agents.ran)) == ("completed", 2)


def test_a_turn_that_is_not_suspended_is_not_woken(begun):
    turn = converse(alice(), "nothing")
    run_turns_here(begun)
    for state in ("completed", "queued", "running"):
        Turn.objects.filter(pk=turn.pk).update(state=state)
        actions.wake_turn(turn.pk)
        assert (as_stored(turn)[:2], begun) == ((state, 1), [])


def approved(begun: list[Begun]) -> tuple[Turn, Begun]:
    """Have Bob approve Alice's payment where turns run; return its turn, and the run that was begun."""
    turn = converse(alice(), "pay")
    run_turns_here(begun)
    decide(only_request(turn), bob(), Verdict.APPROVE)
    (run_here,) = begun
    return turn, run_here


def test_a_run_that_was_begun_while_the_process_drains_is_released(begun):
    turn, run_here = approved(begun)

    async def story() -> None:
        jobs = Jobs(asyncio.get_running_loop())
        await jobs.drain(0)
        jobs.start(turn.pk, run_here)
        while (await pool.run(as_stored, turn))[0] == "running":
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(story(), 60))
    assert (as_stored(turn), calls_of(turn)) == (("queued", 2, ""), [("ready", 0)])
    assert (run(turn).state, agents.ran) == ("completed", [("pay", (5, "Eve"))])


def test_a_run_that_no_handler_takes_over_is_released(begun, monkeypatch):
    turn = converse(alice(), "pay")
    decided_unnoticed([only_request(turn)])
    run_turns_here(begun)
    progress_of = queries.progress_of

    def while_the_process_drains(turn: Turn) -> Any:
        doorbell.set_handlers(on_queued=None, on_stop=None)
        return progress_of(turn)

    monkeypatch.setattr(queries, "progress_of", while_the_process_drains)
    actions.wake_turn(turn.pk)
    assert (begun, as_stored(turn), calls_of(turn)) == ([], ("queued", 2, ""), [("ready", 0)])
