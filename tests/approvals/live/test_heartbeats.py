"""Heartbeats: one row per process, fresh while it runs and removed when it ends."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import actions
from approvals.background import heartbeat
from approvals.db import pool
from approvals.models import processes
from approvals.models.processes import Worker, WorkerKind


def row() -> tuple[str, str, int]:
    (found,) = Worker.objects.all()
    return found.name, found.kind, found.running


@pytest.mark.django_db
def test_a_process_has_one_row_for_all_its_heartbeats():
    started = timezone.now() - timedelta(hours=1)
    actions.record_heartbeat("a", WorkerKind.WORKER, started_at=started, running=0)
    Worker.objects.update(seen_at=started)
    with CaptureQueriesContext(connection) as seen:
        actions.record_heartbeat("a", WorkerKind.WORKER, started_at=timezone.now(), running=3)
    assert sum("approvals_worker" in query["sql"] for query in seen) == 2
    assert row() == ("a", "worker", 3)
    found = Worker.objects.get()
    assert (found.started_at, found.seen_at > started) == (started, True)


@pytest.mark.django_db
def test_a_process_without_heartbeats_is_not_alive_and_is_deleted_after_a_day():
    now = timezone.now()
    for name in ("new", "old", "dead"):
        actions.record_heartbeat(name, WorkerKind.WEB, started_at=now, running=0)
    Worker.objects.filter(name="old").update(seen_at=now - timedelta(seconds=31))
    Worker.objects.filter(name="dead").update(seen_at=now - timedelta(days=1, seconds=1))
    assert [worker.name for worker in processes.alive()] == ["new"]
    actions.record_heartbeat("new", WorkerKind.WEB, started_at=now, running=0)
    assert list(Worker.objects.values_list("name", flat=True)) == ["new", "old"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_a_process_records_its_running_turns_and_is_removed_when_it_ends():
    beating = asyncio.create_task(heartbeat.send_heartbeats(WorkerKind.WORKER, lambda: 7))
    while not (found := await pool.run(lambda: list(Worker.objects.all()))):
        await asyncio.sleep(0)
    assert [(worker.kind, worker.running) for worker in found] == [("worker", 7)]
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    while await pool.run(lambda: list(Worker.objects.all())):
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_heartbeats_continue_after_a_database_outage(monkeypatch):
    tries, again = [], asyncio.Event()

    def away(*_: object, **__: object) -> None:
        tries.append(1)
        if len(tries) > 2:
            loop.call_soon_threadsafe(again.set)
        raise OSError("away")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(heartbeat, "BEAT", 0)
    monkeypatch.setattr(actions, "record_heartbeat", away)
    monkeypatch.setattr(actions, "remove_process", away)
    beating = asyncio.create_task(heartbeat.send_heartbeats(WorkerKind.WEB, heartbeat.no_turns))
    await again.wait()
    assert not beating.done()
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)


def test_each_start_of_a_process_has_its_own_name():
    first, second = heartbeat.new_process_name(), heartbeat.new_process_name()
    assert first != second
    assert first.rsplit(":", 1)[0] == second.rsplit(":", 1)[0]
