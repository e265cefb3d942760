"""The sweep reaches every row however many there are, and no duty waits for another."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable

import pytest
from django.db import InterfaceError, OperationalError, connection

from approvals.background import sweep
from approvals.db import pool
from approvals.db.failures import OutageLog
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Verdict
from chats import actions
from chats.engine import sweep as chat_sweep
from chats.models import Turn
from tests.support.chats.scenes import paused
from tests.support.chats.turns import make_chat, only_request, reload
from tests.support.desk.requests import PAST, decide, make_request, make_workflow
from tests.support.people import alice, bob

SOON = 30


@pytest.mark.django_db
def test_a_walk_returns_every_row_in_turn_and_starts_again():
    owner, walk = alice(), sweep.Walk()
    made = [make_workflow(owner).pk for _ in range(5)]
    rounds = [[row.pk for row in walk.next(Workflow.objects.all(), 2)] for _ in range(5)]
    assert rounds == [made[:2], made[2:4], made[4:], made[:2], made[2:4]]


@pytest.mark.django_db
def test_a_database_lost_within_a_batch_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(pool, "outage", OutageLog(pool.logger, "The database is away (%s).", "It answers."))
    owner = alice()
    for _ in range(3):
        make_request(owner, deadline_at=PAST)
    statements = []

    def fail_after_the_first(execute, sql, params, many, context):
        statements.append(sql)
        if len(statements) > 1:
            raise OperationalError("server closed the connection")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail_after_the_first):
        sweep._run(sweep.Duty(sweep.expire_due_requests, lambda now: []))
    assert [record.getMessage() for record in caplog.records] == [
        "The database is away (server closed the connection)."
    ]


@pytest.mark.django_db
def test_an_answered_turn_is_found_behind_many_running_turns(monkeypatch):
    monkeypatch.setattr(chat_sweep, "WORKFLOWS", 3)
    monkeypatch.setattr(chat_sweep, "_running", sweep.Walk())
    owner, decider = alice(), bob()
    turns = [paused(make_chat(owner)) for _ in range(8)]
    for turn in turns:
        decide(only_request(turn), decider, Verdict.APPROVE)
    # All of them run except the last, whose signal was lost.
    Turn.objects.update(state="running")
    Turn.objects.filter(pk=turns[-1].pk).update(state="suspended")
    for _ in range(3):
        chat_sweep.resume_answered_turns()
    assert reload(turns[-1]).state == "queued"


@pytest.mark.django_db
def test_a_turn_that_cannot_be_resumed_does_not_block_the_others(monkeypatch):
    monkeypatch.setattr(chat_sweep, "_running", sweep.Walk())
    owner, decider = alice(), bob()
    turns = [paused(make_chat(owner)) for _ in range(2)]
    for turn in turns:
        decide(only_request(turn), decider, Verdict.APPROVE)
    Turn.objects.update(state="suspended")
    resume = actions.resume_turn

    def resume_but_the_first(turn_id: int, *, waits: bool) -> bool:
        assert turn_id != turns[0].pk
        return resume(turn_id, waits=waits)

    monkeypatch.setattr(actions, "resume_turn", resume_but_the_first)
    chat_sweep.resume_answered_turns()
    assert [reload(turn).state for turn in turns] == ["suspended", "queued"]


@contextlib.asynccontextmanager
async def sweeping(monkeypatch, *duties: Callable[[], object]) -> AsyncIterator[None]:
    """Run the sweep with these duties only, all of which are due."""
    monkeypatch.setattr(sweep, "_duties", [])
    monkeypatch.setattr(sweep, "INTERVAL", 0.01)
    await pool.run(lambda: make_request(alice()))
    for duty in duties:
        sweep.register(duty, lambda now: [ApprovalRequest.objects.all()])
    task = asyncio.create_task(sweep.run_for_ever())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def acquire(semaphore: threading.Semaphore, times: int) -> None:
    for _ in range(times):
        assert await asyncio.to_thread(semaphore.acquire, timeout=SOON)


@pytest.mark.django_db(transaction=True)
async def test_the_sweep_survives_a_thread_that_fails_after_a_duty(monkeypatch):
    rounds, call_and_close = threading.Semaphore(0), pool.call_and_close

    def fail_to_close(work, *args):
        found = call_and_close(work, *args)
        if args:
            raise InterfaceError("the connection cannot be closed")
        return found

    async with sweeping(monkeypatch, lambda: rounds.release()):
        monkeypatch.setattr(pool, "call_and_close", fail_to_close)
        await acquire(rounds, 2)


@pytest.mark.django_db(transaction=True)
async def test_duties_run_side_by_side(monkeypatch):
    # Neither can end before the other has begun.
    meeting = threading.Barrier(3)
    async with sweeping(monkeypatch, *(lambda: meeting.wait(SOON) for _ in range(2))):
        try:
            await asyncio.to_thread(meeting.wait, SOON)
        finally:
            meeting.abort()


@pytest.mark.django_db(transaction=True)
async def test_duties_that_hang_take_no_thread_of_the_turns(monkeypatch):
    let, hanging = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        hanging.release()
        let.wait(SOON)

    async with sweeping(monkeypatch, *(lambda: hang() for _ in range(2 * pool.THREADS))):
        try:
            await acquire(hanging, 2 * pool.THREADS)
            async with asyncio.timeout(SOON):
                assert await pool.run(ApprovalRequest.objects.count) == 1
        finally:
            let.set()
