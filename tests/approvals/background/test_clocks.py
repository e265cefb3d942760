"""A process with a wrong clock does no harm: leases, the sweep and deliveries use the clock of the database."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from approvals import actions as desk
from approvals.access.assignees import LAPSES
from approvals.api.agentforge import feed
from approvals.background import sweep
from approvals.models import ApprovalRequest, OutboxEvent, processes
from approvals.models.processes import WorkerKind
from approvals.models.subscriptions import LastNotice
from approvals.outbound import notifications, outbox
from approvals.states import Channel, Door
from chats import actions, doorbell
from chats.engine import sweep as chat_sweep
from chats.models import Turn
from tests.support.chats.claims import claim_turn
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


def test_a_process_with_a_fast_clock_does_not_take_a_running_turn(elsewhere):
    turn = say(make_chat(alice()), "hello")
    assert claim_turn(turn.pk, owner="at work") is not None
    with elsewhere(SECONDS):
        assert (rung(), claim_turn(turn.pk, owner="ahead")) == ([], None)
    assert reload(turn).lease_owner == "at work"


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_the_length_of_a_lease_does_not_depend_on_the_holders_clock(elsewhere, seconds):
    turn = say(make_chat(alice()), "hello")
    with elsewhere(seconds):
        claim, _, _ = claim_turn(turn.pk, owner="wrong")
    left = [reload(turn).lease_until - timezone.now()]
    with elsewhere(seconds):
        assert actions.renew_leases([claim]) == ({claim.turn_id}, set())
    left.append(reload(turn).lease_until - timezone.now())
    assert [timedelta(minutes=-1) < each < timedelta(seconds=16) for each in left] == [True, True]


def test_a_process_with_a_slow_clock_notices_a_lapsed_lease(elsewhere):
    turn = say(make_chat(alice()), "hello")
    claim_turn(turn.pk, owner="gone")
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    with elsewhere(-SECONDS):
        assert rung() == [turn.pk]
        assert claim_turn(turn.pk, owner="behind") is not None


@pytest.mark.parametrize(("seconds", "deadline", "status"), [(SECONDS, 10, "pending"), (-SECONDS, -10, "expired")])
def test_deadlines_follow_the_databases_clock(elsewhere, seconds, deadline, status):
    request = make_request(alice(), deadline_at=timezone.now() + timedelta(seconds=deadline))
    with elsewhere(seconds):
        sweep.expire_due_requests()
    assert ApprovalRequest.objects.get(pk=request.pk).status == status


def test_how_long_an_assignment_lasts_does_not_depend_on_the_process_clock(elsewhere):
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


def test_an_event_is_due_at_once_even_if_its_writers_clock_is_fast(elsewhere, settings):
    settings.HITL_EVENT_HANDLERS = ["tests.approvals.background.test_clocks.nobody"]
    with elsewhere(SECONDS):
        outbox.enqueue("request.created", stream="s", data={"run_id": "r"})
    assert len(outbox.head_events(Channel.HANDLER)) == 1


def nobody(event: outbox.Event) -> None:
    """A handler."""


@pytest.mark.parametrize("seconds", [SECONDS * 60, -SECONDS * 60])
def test_a_delivery_stays_claimed_for_as_long_as_it_may_take(elsewhere, seconds):
    row = leaving(Channel.HANDLER)
    OutboxEvent.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    row.refresh_from_db()
    again = OutboxEvent.objects.get(pk=row.pk)
    with elsewhere(seconds):
        assert outbox.claim_event(row)
        assert list(outbox.head_events(Channel.HANDLER)) == []
        assert not outbox.claim_event(again)
    left = OutboxEvent.objects.get(pk=row.pk).next_attempt_at - timezone.now()
    assert outbox.CLAIM - timedelta(minutes=1) < left <= outbox.CLAIM + timedelta(seconds=1)


def test_a_process_with_a_clock_a_week_fast_gives_up_no_delivery(elsewhere):
    row = leaving(Channel.HANDLER)
    with elsewhere(7 * 86400):
        outbox.record_failure(row, "the search index is down")
    row.refresh_from_db()
    assert (row.dead_at, row.next_attempt_at < timezone.now() + timedelta(minutes=1)) == (None, True)
    OutboxEvent.objects.update(created_at=timezone.now() - timedelta(days=4))
    outbox.record_failure(row, "the search index is down")
    row.refresh_from_db()
    assert row.dead_at is not None


def test_processes_with_different_clocks_notify_each_person_once(elsewhere):
    last = LastNotice(recipient="mail:1")
    assert notifications._claim(last)
    with elsewhere(3600):
        assert not notifications._claim(LastNotice(recipient="mail:1"))


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_process_is_alive_whatever_its_clock_says(elsewhere, seconds):
    with elsewhere(seconds):
        desk.record_heartbeat("host:1:a", WorkerKind.WORKER, started_at=timezone.now(), running=0)
    assert processes.alive().count() == 1
    with elsewhere(-seconds):
        assert processes.alive().count() == 1


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_followers_do_not_wait_longer_for_a_process_with_a_fast_clock(elsewhere, monkeypatch, seconds):
    monkeypatch.setattr(feed, "_seen", {})
    now = [1000.0]
    monkeypatch.setattr(feed, "monotonic", lambda: now[0])
    row = feed._Row(7, timezone.now() + timedelta(seconds=seconds), "request.created", None, timezone.now())
    assert feed._is_recent(row) is (seconds > 0)
    now[0] += feed.OVERLAP.total_seconds()
    assert not feed._is_recent(row)


def test_a_comment_extends_an_assignment_by_the_databases_clock(elsewhere):
    request, decider = make_request(alice()), bob()
    desk.claim(request.pk, by=decider, via=Door.DASHBOARD)
    with elsewhere(SECONDS):
        desk.comment(request.pk, by=decider, via=Door.DASHBOARD, text="I am on it.")
    assert ApprovalRequest.objects.get(pk=request.pk).claimed_at <= timezone.now()
