"""The sweep finds due duties in one query and runs them independently."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.background import sweep
from approvals.db.pool import run
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.outbound import outbox
from approvals.states import Channel, Verdict
from chats.models import Turn
from tests.support.chats.scenes import completed, paused
from tests.support.chats.turns import make_chat, only_request, say
from tests.support.desk.requests import PAST, decide, make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 30


def found_due() -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        due = sweep.find_due()
    assert len(asked.captured_queries) == 1
    return [duty.run.__qualname__ for duty in due]


def overdue() -> None:
    make_request(alice(), deadline_at=PAST)


def lapsed() -> None:
    request = make_request(alice())
    ago = timezone.now() - timedelta(minutes=16)
    ApprovalRequest.objects.filter(pk=request.pk).update(claimed_by=bob(), claimed_name="bob", claimed_at=ago)


def queued() -> None:
    say(make_chat(alice()), "hello")


def answered() -> None:
    turn = paused(make_chat(alice()))
    decide(only_request(turn), bob(), Verdict.APPROVE)
    Turn.objects.filter(pk=turn.pk).update(state="suspended")


def over() -> None:
    completed(make_chat(alice()))
    Turn.objects.update(ended_at=timezone.now() - timedelta(days=400))


def leaving(channel: Channel):
    def scene() -> None:
        OutboxEvent.objects.create(
            event_id=uuid4(),
            name=outbox.EVENTS[0],
            target="x",
            stream="s",
            sequence=1,
            payload={},
            channel=channel,
            lane="x",
            next_attempt_at=PAST,
        )

    scene.__name__ = f"leaving_by_{channel}"
    return scene


def to_come() -> None:
    """None of this is due yet, or any more."""
    make_request(alice(), deadline_at=timezone.now() + timedelta(hours=1))
    paused(make_chat(bob()))
    leaving(Channel.WEBHOOK)()
    OutboxEvent.objects.update(next_attempt_at=timezone.now() + timedelta(hours=1))
    leaving(Channel.HANDLER)()
    OutboxEvent.objects.filter(channel=Channel.HANDLER).update(delivered_at=timezone.now())


@pytest.mark.parametrize(
    ("scene", "due"),
    [
        (to_come, []),
        (overdue, ["expire_due_requests"]),
        (lapsed, ["free_lapsed_requests"]),
        (queued, ["wake_stuck_turns"]),
        (answered, ["resume_answered_turns"]),
        (over, ["prune_old_events"]),
        (leaving(Channel.HANDLER), ["deliver_due"]),
        (leaving(Channel.NOTICE), ["spread_due_notices"]),
        (leaving(Channel.WEBHOOK), ["DeliveryLanes.deliver_due"]),
        (leaving(Channel.MAIL), ["DeliveryLanes.deliver_due"]),
        (leaving(Channel.SLACK), ["DeliveryLanes.deliver_due"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_one_query_finds_all_due_duties(scene, due):
    assert found_due() == []
    scene()
    assert found_due() == due


@pytest.fixture
def duties(monkeypatch):
    """No duties but those of the test."""
    found: list[sweep.Duty] = []
    monkeypatch.setattr(sweep, "_duties", found)
    monkeypatch.setattr(sweep, "INTERVAL", 0.01)
    return found


async def test_hanging_and_failing_duties_do_not_block_the_others(duties):
    hangs, let, rounds = threading.Event(), threading.Event(), threading.Semaphore(0)
    begun: list[str] = []

    def hang() -> None:
        begun.append("hang")
        hangs.set()
        let.wait(SOON)

    def fail() -> None:
        raise RuntimeError

    def always(now):
        return [ApprovalRequest.objects.all()]

    await run(lambda: make_request(alice()))
    sweep.register(hang, always)
    sweep.register(fail, always)
    sweep.register(lambda: rounds.release(), always)
    sweep.register(lambda: begun.append("never"), lambda now: [ApprovalRequest.objects.none()])
    sweeping = asyncio.create_task(sweep.run_for_ever())
    try:
        assert await asyncio.to_thread(hangs.wait, SOON)
        for _ in range(5):
            assert await asyncio.to_thread(rounds.acquire, timeout=SOON)
    finally:
        let.set()
        sweeping.cancel()
        await asyncio.wait([sweeping])
    assert begun == ["hang"]
