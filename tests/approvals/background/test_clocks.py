"""A process whose clock is wrong does no harm: leases, the sweep and deliveries go by the clock of the database."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from approvals import actions as desk
from approvals.access.assignees import LAPSES
from approvals.api import feed
from approvals.background import sweep
from approvals.models import ApprovalRequest, OutboxEvent, processes
from approvals.models.processes import WorkerKind
from approvals.models.subscriptions import LastNotice
from approvals.outbound import notifications, outbox
from approvals.states import Channel, Door
from chats import actions, doorbell
from chats.engine import sweep as chat_sweep
from chats.models import Turn
from tests.support.chats.turns import make_chat, reload, say
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

SECONDS = 30


@pytest.fixture
def elsewhere(monkeypatch):
    """This process, with another clock: `with elsewhere(seconds):`."""

    @contextmanager
    def shifted(seconds: float):
        right = timezone.now
        with monkeypatch.context() as patch:
            patch.setattr(timezone, "now", lambda: right() + timedelta(seconds=seconds))
            yield

    return shifted


def rung() -> list[int]:
    """The turns that the sweep rings for."""
    found: list[int] = []
    doorbell.set_handlers(on_queued=lambda turn_id, below: found.append(turn_id), on_stop=None)
    try:
        chat_sweep.wake_stuck_turns()
    finally:
        doorbell.set_handlers(on_queued=None, on_stop=None)
    return found


def test_a_live_turn_is_not_taken_by_a_process_whose_clock_is_ahead(elsewhere):
    turn = say(make_chat(alice()), "hello")
    assert actions.claim_turn(turn.pk, owner="at work") is not None
    with elsewhere(SECONDS):
        assert (rung(), actions.claim_turn(turn.pk, owner="ahead")) == ([], None)
    assert reload(turn).lease_owner == "at work"


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_lease_is_as_long_as_it_is_whatever_its_holders_clock_says(elsewhere, seconds):
    turn = say(make_chat(alice()), "hello")
    with elsewhere(seconds):
        claim, _, _ = actions.claim_turn(turn.pk, owner="wrong")
    left = [reload(turn).lease_until - timezone.now()]
    with elsewhere(seconds):
        assert actions.renew_lease(claim) == (True, False)
    left.append(reload(turn).lease_until - timezone.now())
    assert [timedelta(seconds=12) < each < timedelta(seconds=16) for each in left] == [True, True]


def test_a_lapsed_lease_is_seen_by_a_process_whose_clock_is_behind(elsewhere):
    turn = say(make_chat(alice()), "hello")
    actions.claim_turn(turn.pk, owner="gone")
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    with elsewhere(-SECONDS):
        assert rung() == [turn.pk]
        assert actions.claim_turn(turn.pk, owner="behind") is not None


@pytest.mark.parametrize(("seconds", "deadline", "status"), [(SECONDS, 10, "pending"), (-SECONDS, -10, "expired")])
def test_deadlines_are_kept_by_the_databases_clock(elsewhere, seconds, deadline, status):
    request = make_request(alice(), deadline_at=timezone.now() + timedelta(seconds=deadline))
    with elsewhere(seconds):
        sweep.expire_due_requests()
    assert ApprovalRequest.objects.get(pk=request.pk).status == status


def test_who_took_a_request_keeps_it_for_a_while_whatever_their_processs_clock_says(elsewhere):
    request, decider = make_request(alice()), bob()
    with elsewhere(-LAPSES.total_seconds()):
        desk.claim(request.pk, by=decider, via=Door.DASHBOARD)
    with elsewhere(LAPSES.total_seconds()):
        sweep.free_lapsed_requests()
    assert ApprovalRequest.objects.get(pk=request.pk).claimed_name == "bob"


def leaving(channel: Channel, target: str = "x") -> OutboxEvent:
    """An event on its way, written by this process."""
    told = {"event_id": uuid4(), "name": "request.created", "stream": "s", "sequence": 1, "payload": {"run_id": "r"}}
    return OutboxEvent.objects.create(**told, channel=channel, target=target, lane=target)


def test_an_event_is_due_at_once_though_its_writers_clock_is_ahead(elsewhere, settings):
    settings.HITL_EVENT_HANDLERS = ["tests.approvals.background.test_clocks.nobody"]
    with elsewhere(SECONDS):
        outbox.enqueue("request.created", stream="s", data={"run_id": "r"})
    assert len(outbox.head_events(Channel.HANDLER)) == 1


def nobody(event: outbox.Event) -> None:
    """A handler."""


@pytest.mark.parametrize("seconds", [SECONDS * 60, -SECONDS * 60])
def test_a_delivery_belongs_to_its_process_for_as_long_as_it_may_take(elsewhere, seconds):
    row = leaving(Channel.HANDLER)
    OutboxEvent.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    row.refresh_from_db()
    again = OutboxEvent.objects.get(pk=row.pk)
    with elsewhere(seconds):
        assert outbox.claim_event(row)
        assert list(outbox.head_events(Channel.HANDLER)) == []
        assert not outbox.claim_event(again)
    left = OutboxEvent.objects.get(pk=row.pk).next_attempt_at - timezone.now()
    assert outbox.CLAIM - timedelta(seconds=5) < left <= outbox.CLAIM + timedelta(seconds=1)


def test_nothing_is_given_up_by_a_process_whose_clock_is_a_week_ahead(elsewhere):
    row = leaving(Channel.HANDLER)
    with elsewhere(7 * 86400):
        outbox.record_failure(row, "the search index is down")
    row.refresh_from_db()
    assert (row.dead_at, row.next_attempt_at < timezone.now() + timedelta(minutes=1)) == (None, True)
    OutboxEvent.objects.update(created_at=timezone.now() - timedelta(days=4))
    outbox.record_failure(row, "the search index is down")
    row.refresh_from_db()
    assert row.dead_at is not None


def test_nobody_is_told_twice_by_processes_whose_clocks_differ(elsewhere):
    last = LastNotice(recipient="mail:1")
    assert notifications._claim(last)
    with elsewhere(3600):
        assert not notifications._claim(LastNotice(recipient="mail:1"))


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_living_process_is_seen_to_live_whatever_its_clock_says(elsewhere, seconds):
    with elsewhere(seconds):
        desk.seen("host:1:a", WorkerKind.WORKER, started_at=timezone.now(), running=0)
    assert processes.alive().count() == 1
    with elsewhere(-seconds):
        assert processes.alive().count() == 1


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_followers_of_the_record_wait_no_longer_for_a_process_whose_clock_is_ahead(elsewhere, monkeypatch, seconds):
    monkeypatch.setattr(feed, "_seen", {})
    now = [1000.0]
    monkeypatch.setattr(feed, "monotonic", lambda: now[0])
    row = feed._Row(7, timezone.now() + timedelta(seconds=seconds), "request.created", None, timezone.now())
    assert feed._is_fresh(row) is (seconds > 0)
    now[0] += feed.OVERLAP.total_seconds()
    assert not feed._is_fresh(row)


def test_a_comment_keeps_a_request_for_as_long_as_it_is_whatever_its_process_takes_for_now(elsewhere):
    request, decider = make_request(alice()), bob()
    desk.claim(request.pk, by=decider, via=Door.DASHBOARD)
    with elsewhere(SECONDS):
        desk.comment(request.pk, by=decider, via=Door.DASHBOARD, text="I am on it.")
    assert ApprovalRequest.objects.get(pk=request.pk).claimed_at <= timezone.now()
