"""What fails hundreds of times a minute is a line when it begins and a line when it is over; an end of a process is quiet."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from django.db import OperationalError

from approvals.live import doorbell, listeners
from approvals.outbound import delivery_lanes
from approvals.outbound.delivery_lanes import Couriers, Job
from approvals.runtime import database
from approvals.runtime.failures import QUIET, Trouble
from chats import actions
from chats.engine.jobs import Jobs

LOG = logging.getLogger("tests.noise")
FULL = OperationalError("database or disk is full")


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def trouble(clock):
    return Trouble(LOG, "It fails (%s).", "It works.", clock=lambda: clock[0])


def lines(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_one_line_when_it_begins_and_one_when_it_is_over(caplog, trouble, clock):
    for _ in range(2870):
        trouble.met("gone\nwith details")
    clock[0] = QUIET
    for _ in range(10):
        trouble.passed()
    assert lines(caplog) == ["It fails (gone).", "It works. (failures meanwhile: 2870)"]


def test_what_fails_every_other_time_is_still_failing(caplog, trouble, clock):
    for _ in range(100):
        trouble.met("full")
        trouble.passed()
        clock[0] += QUIET / 20
    assert lines(caplog) == ["It fails (full)."]


def test_a_second_outage_is_news_though_nobody_saw_the_end_of_the_first(caplog, trouble, clock):
    trouble.met("one")
    trouble.passed()
    clock[0] = 2 * QUIET
    assert trouble.met("two")
    assert lines(caplog) == ["It fails (one).", "It fails (two)."]


async def test_lost_rings_are_one_line(caplog, monkeypatch):
    class Dead:
        async def group_send(self, group, message):
            raise ConnectionError("refused")

    monkeypatch.setattr(doorbell, "get_channel_layer", Dead)
    monkeypatch.setattr(doorbell, "_lost", Trouble(doorbell.logger, "Rings are lost (%s).", "Rings arrive again."))
    for number in range(50):
        await doorbell._send(f"user.{number}", {})
    assert lines(caplog) == ["Rings are lost (ConnectionError: refused)."]
    assert [record.exc_info for record in caplog.records] == [None]


async def test_a_layer_that_cannot_be_listened_to_is_one_traceback(caplog, monkeypatch):
    tried = asyncio.Semaphore(0)

    class Dead:
        async def new_channel(self):
            tried.release()
            raise RuntimeError("no such thing")

    monkeypatch.setattr(listeners, "get_channel_layer", Dead)
    monkeypatch.setattr(listeners, "RETRY", 0)
    monkeypatch.setattr(listeners, "_deaf", Trouble(listeners.logger, "Not heard (%s).", "Heard again."))
    listening = asyncio.create_task(listeners.hear("streams", print))
    for _ in range(20):
        await tried.acquire()
    listening.cancel()
    await asyncio.wait([listening])
    assert [record.exc_info is not None for record in caplog.records] == [False, True]


async def test_turns_that_a_full_disk_keeps_from_being_taken_are_one_line_and_no_traceback(caplog, monkeypatch):
    def full(*args, **kwargs):
        raise FULL

    monkeypatch.setattr(actions, "claim_turn", full)
    monkeypatch.setattr(database, "outage", Trouble(database.logger, "The database is away (%s).", "It answers."))
    jobs = Jobs(asyncio.get_running_loop())
    for turn in range(30):
        await jobs.run(turn)
    await asyncio.sleep(0)
    assert lines(caplog) == ["The database is away (database or disk is full)."]


def test_who_ends_begins_no_delivery_and_says_nothing_of_those_that_its_end_cuts_off(caplog):
    caplog.set_level(logging.INFO, "approvals.outbound.delivery_lanes")
    begun, go = threading.Event(), threading.Event()

    def cut_off() -> bool:
        begun.set()
        go.wait(30)
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    more = [Job("a.example", lambda: True, cut_off)]
    desk = Couriers(lambda shut: [more[0]] if not begun.is_set() or go.is_set() else [])
    desk._begin_due()
    assert begun.wait(30)
    delivery_lanes.stop_all(0)
    go.set()
    assert desk.idle(30)
    assert not desk._begin_due()
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("INFO", None)]
