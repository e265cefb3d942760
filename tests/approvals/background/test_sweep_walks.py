"""The sweep comes by everything in the end, however much there is, and a duty waits for no other."""

from __future__ import annotations

import asyncio
import threading

import pytest
from django.db import InterfaceError, OperationalError, connection

from approvals.background import sweep
from approvals.models import ApprovalRequest, Workflow
from approvals.runtime import database
from approvals.runtime.failures import Trouble
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
def test_a_walk_gives_every_row_in_turn_and_begins_anew():
    owner, walk = alice(), sweep.Walk()
    made = [make_workflow(owner).pk for _ in range(5)]
    rounds = [[row.pk for row in walk.next(Workflow.objects.all(), 2)] for _ in range(5)]
    assert rounds == [made[:2], made[2:4], made[4:], made[:2], made[2:4]]


@pytest.mark.django_db
def test_a_database_that_goes_away_within_a_batch_is_one_line(monkeypatch, caplog):
    monkeypatch.setattr(database, "outage", Trouble(database.logger, "The database is away (%s).", "It answers."))
    owner = alice()
    for _ in range(3):
        make_request(owner, deadline_at=PAST)
    said = []

    def gone_after_the_first(execute, sql, params, many, context):
        said.append(sql)
        if len(said) > 1:
            raise OperationalError("server closed the connection")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(gone_after_the_first):
        sweep._run(sweep.Duty(sweep.expire_due_requests, lambda now: []))
    assert [record.getMessage() for record in caplog.records] == [
        "The database is away (server closed the connection)."
    ]


@pytest.mark.django_db
def test_a_turn_that_was_answered_is_found_behind_any_number_that_only_run(monkeypatch):
    monkeypatch.setattr(chat_sweep, "MANY", 3)
    monkeypatch.setattr(chat_sweep, "_running", sweep.Walk())
    owner, decider = alice(), bob()
    turns = [paused(make_chat(owner)) for _ in range(8)]
    for turn in turns:
        decide(only_request(turn), decider, Verdict.APPROVE)
    # All of them run, but for the last, whose signal was lost.
    Turn.objects.update(state="running")
    Turn.objects.filter(pk=turns[-1].pk).update(state="suspended")
    for _ in range(3):
        chat_sweep.resume_answered_turns()
    assert reload(turns[-1]).state == "queued"


@pytest.mark.django_db
def test_a_turn_that_cannot_be_resumed_keeps_no_other_waiting(monkeypatch):
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


@pytest.mark.django_db(transaction=True)
async def test_the_sweep_outlives_a_thread_that_fails_behind_a_duty(monkeypatch):
    monkeypatch.setattr(sweep, "_duties", [])
    monkeypatch.setattr(sweep, "INTERVAL", 0.01)
    rounds, unit = threading.Semaphore(0), database.unit

    def unit_that_cannot_close(work, *args):
        found = unit(work, *args)
        if args:
            raise InterfaceError("the connection cannot be closed")
        return found

    await database.run(lambda: make_request(alice()))
    monkeypatch.setattr(database, "unit", unit_that_cannot_close)
    sweep.register(lambda: rounds.release(), lambda now: [ApprovalRequest.objects.all()])
    sweeping = asyncio.create_task(sweep.run_for_ever())
    try:
        for _ in range(2):
            assert await asyncio.to_thread(rounds.acquire, timeout=5)
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])


@pytest.mark.django_db(transaction=True)
async def test_duties_run_beside_each_other(monkeypatch):
    monkeypatch.setattr(sweep, "_duties", [])
    monkeypatch.setattr(sweep, "INTERVAL", 0.01)
    # Neither can end before the other has begun.
    meeting = threading.Barrier(3)
    await database.run(lambda: make_request(alice()))
    for _ in range(2):
        sweep.register(lambda: meeting.wait(SOON) and None, lambda now: [ApprovalRequest.objects.all()])
    sweeping = asyncio.create_task(sweep.run_for_ever())
    try:
        await asyncio.to_thread(meeting.wait, SOON)
    finally:
        sweeping.cancel()
        meeting.abort()
        await asyncio.wait([sweeping])


@pytest.mark.django_db(transaction=True)
async def test_duties_that_hang_take_no_thread_of_the_turns(monkeypatch):
    monkeypatch.setattr(sweep, "_duties", [])
    monkeypatch.setattr(sweep, "INTERVAL", 0.01)
    let, hanging = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        hanging.release()
        let.wait(SOON)

    await database.run(lambda: make_request(alice()))
    for _ in range(2 * database.THREADS):
        sweep.register(lambda hang=hang: hang(), lambda now: [ApprovalRequest.objects.all()])
    sweeping = asyncio.create_task(sweep.run_for_ever())
    try:
        for _ in range(2 * database.THREADS):
            assert await asyncio.to_thread(hanging.acquire, timeout=SOON)
        async with asyncio.timeout(SOON):
            assert await database.run(ApprovalRequest.objects.count) == 1
    finally:
        let.set()
        sweeping.cancel()
        await asyncio.wait([sweeping])
