"""Processes show that they live: one row each, fresh while they do, and gone with them."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import actions
from approvals.background import heartbeat
from approvals.models import processes
from approvals.models.processes import Worker, WorkerKind
from approvals.runtime import database


def row() -> tuple[str, str, int]:
    (found,) = Worker.objects.all()
    return found.name, found.kind, found.running


@pytest.mark.django_db
def test_a_process_has_one_row_however_often_it_is_seen():
    started = timezone.now() - timedelta(hours=1)
    actions.seen("a", WorkerKind.WORKER, started_at=started, running=0)
    Worker.objects.update(seen_at=started)
    with CaptureQueriesContext(connection) as seen:
        actions.seen("a", WorkerKind.WORKER, started_at=timezone.now(), running=3)
    assert sum("approvals_worker" in query["sql"] for query in seen) == 2
    assert row() == ("a", "worker", 3)
    found = Worker.objects.get()
    assert (found.started_at, found.seen_at > started) == (started, True)


@pytest.mark.django_db
def test_who_was_not_seen_for_a_while_does_not_live_and_is_forgotten_after_a_day():
    now = timezone.now()
    for name in ("new", "old", "dead"):
        actions.seen(name, WorkerKind.WEB, started_at=now, running=0)
    Worker.objects.filter(name="old").update(seen_at=now - timedelta(seconds=31))
    Worker.objects.filter(name="dead").update(seen_at=now - timedelta(days=1, seconds=1))
    assert [worker.name for worker in processes.alive()] == ["new"]
    actions.seen("new", WorkerKind.WEB, started_at=now, running=0)
    assert list(Worker.objects.values_list("name", flat=True)) == ["new", "old"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_a_process_is_seen_with_its_turns_and_goes_when_it_ends():
    beating = asyncio.create_task(heartbeat.beat(WorkerKind.WORKER, lambda: 7))
    while not (found := await database.run(lambda: list(Worker.objects.all()))):
        await asyncio.sleep(0)
    assert [(worker.kind, worker.running) for worker in found] == [("worker", 7)]
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    while await database.run(lambda: list(Worker.objects.all())):
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_a_database_that_is_away_does_not_end_the_beat(monkeypatch):
    tries, again = [], asyncio.Event()

    def away(*_: object, **__: object) -> None:
        tries.append(1)
        if len(tries) > 2:
            loop.call_soon_threadsafe(again.set)
        raise OSError("away")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(heartbeat, "BEAT", 0)
    monkeypatch.setattr(actions, "seen", away)
    monkeypatch.setattr(actions, "gone", away)
    beating = asyncio.create_task(heartbeat.beat(WorkerKind.WEB, heartbeat.idle))
    await again.wait()
    assert not beating.done()
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)


def test_two_starts_of_one_process_have_two_names():
    first, second = heartbeat.process_name(), heartbeat.process_name()
    assert first != second
    assert first.rsplit(":", 1)[0] == second.rsplit(":", 1)[0]
