"""An outage is logged once when it begins and once when it is over, and a stopping process logs no errors."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from django.db import OperationalError

from approvals.db import pool
from approvals.db.failures import QUIET, OutageLog
from approvals.live import doorbell, listeners
from approvals.outbound import delivery_lanes
from approvals.outbound.delivery_lanes import DeliveryLanes, Job
from chats import actions
from chats.engine.jobs import Jobs

LOG = logging.getLogger("tests.noise")
FULL = OperationalError("database or disk is full")


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def outage(clock):
    return OutageLog(LOG, "It fails (%s).", "It works.", clock=lambda: clock[0])


def lines(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_an_outage_is_logged_when_it_begins_and_when_it_is_over(caplog, outage, clock):
    for _ in range(2870):
        outage.record_failure("gone\nwith details")
    clock[0] = QUIET
    for _ in range(10):
        outage.record_success()
    assert lines(caplog) == ["It fails (gone).", "It works. (failures meanwhile: 2870)"]


def test_failing_every_other_time_is_one_outage(caplog, outage, clock):
    for _ in range(100):
        outage.record_failure("full")
        outage.record_success()
        clock[0] += QUIET / 20
    assert lines(caplog) == ["It fails (full)."]


def test_a_second_outage_is_logged_even_if_the_end_of_the_first_was_not(caplog, outage, clock):
    outage.record_failure("one")
    outage.record_success()
    clock[0] = 2 * QUIET
    assert outage.record_failure("two")
    assert lines(caplog) == ["It fails (one).", "It fails (two)."]


async def test_lost_notifications_are_logged_once(caplog, monkeypatch):
    class Dead:
        async def group_send(self, group, message):
            raise ConnectionError("refused")

    monkeypatch.setattr(doorbell, "get_channel_layer", Dead)
    monkeypatch.setattr(
        doorbell, "_outage", OutageLog(doorbell.logger, "Notifications are lost (%s).", "They arrive again.")
    )
    for number in range(50):
        await doorbell.send(f"user.{number}", {})
    assert lines(caplog) == ["Notifications are lost (ConnectionError: refused)."]
    assert [record.exc_info for record in caplog.records] == [None]


async def test_a_channel_layer_that_fails_is_logged_with_one_traceback(caplog, monkeypatch):
    tried = asyncio.Semaphore(0)

    class Dead:
        async def new_channel(self):
            tried.release()
            raise RuntimeError("no such thing")

    monkeypatch.setattr(listeners, "get_channel_layer", Dead)
    monkeypatch.setattr(listeners, "RETRY", 0)
    monkeypatch.setattr(listeners, "_outage", OutageLog(listeners.logger, "Not received (%s).", "Received again."))
    listening = asyncio.create_task(listeners.listen(["streams"], print))
    for _ in range(20):
        await tried.acquire()
    listening.cancel()
    await asyncio.wait([listening])
    assert [record.exc_info is not None for record in caplog.records] == [False, True]


async def test_turns_that_cannot_be_claimed_because_the_disk_is_full_are_one_log_line(caplog, monkeypatch):
    def full(*args, **kwargs):
        raise FULL

    monkeypatch.setattr(actions, "begin_run", full)
    monkeypatch.setattr(pool, "outage", OutageLog(pool.logger, "The database is away (%s).", "It answers."))
    jobs = Jobs(asyncio.get_running_loop())
    for turn in range(30):
        await jobs.run(turn)
    await asyncio.sleep(0)
    assert lines(caplog) == ["The database is away (database or disk is full)."]


def test_a_stopping_process_starts_no_delivery_and_logs_no_error_for_interrupted_ones(caplog):
    caplog.set_level(logging.INFO, "approvals.outbound.delivery_lanes")
    begun, go = threading.Event(), threading.Event()

    def cut_off() -> bool:
        begun.set()
        go.wait(30)
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    more = [Job("a.example", lambda: True, cut_off)]
    desk = DeliveryLanes(lambda shut: [more[0]] if not begun.is_set() or go.is_set() else [])
    desk._begin_due()
    assert begun.wait(30)
    delivery_lanes.stop_all(0)
    go.set()
    assert desk.idle(30)
    assert not desk._begin_due()
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("INFO", None)]
