"""A slow or dead host delays only its own deliveries, and the number of threads is bounded."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from approvals import http_post
from approvals.models import OutboxEvent
from approvals.outbound import delivery_lanes, webhooks
from approvals.outbound.delivery_lanes import DeliveryLanes, Job
from tests.support.desk.carrying import make_endpoint, states
from tests.support.desk.requests import make_request, make_workflow
from tests.support.people import alice
from tests.support.processes.server import until
from tests.support.receiver import Receiver, answer, silent


class Yard:
    """Jobs on lanes: `slow` ones wait until they are released."""

    def __init__(self, *lanes: str) -> None:
        self.waiting = list(lanes)
        self.done: list[str] = []
        self.let_go = threading.Event()
        self.under_way, self.most = 0, 0
        self.lock = threading.Lock()

    def source(self, shut) -> list[Job]:
        shut = set(shut)
        return [Job(lane, lambda lane=lane: self.claim(lane), lambda lane=lane: self.work(lane))
                for lane in list(self.waiting) if lane not in shut]  # fmt: skip

    def claim(self, lane: str) -> bool:
        self.waiting.remove(lane)
        return True

    def work(self, lane: str) -> bool:
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        if lane.startswith("slow"):
            self.let_go.wait(300)
        with self.lock:
            self.under_way -= 1
            self.done.append(lane)
        return not lane.startswith("dead")


def deliver_until(carriers: DeliveryLanes, done: Callable[[], bool]) -> None:
    """Deliver in rounds, as the sweep does: on a busy machine one round may not be enough."""

    def looked() -> bool:
        carriers.deliver_due()
        return done()

    until(looked, "what is due is delivered")


def test_a_slow_lane_takes_two_threads_and_others_continue():
    yard = Yard(*["slow"] * 40, *[f"quick-{number % 7}" for number in range(100)])
    carriers = DeliveryLanes(yard.source)
    deliver_until(carriers, lambda: len(yard.done) >= 100)
    assert (len(yard.done), set(yard.waiting), len(yard.waiting)) == (100, {"slow"}, 38)
    yard.let_go.set()
    deliver_until(carriers, lambda: not yard.waiting)
    assert (carriers.idle(60), yard.done.count("slow"), yard.most <= delivery_lanes.THREADS) == (True, 40, True)


def test_many_slow_lanes_take_all_threads_but_no_more():
    yard = Yard(*[f"slow-{number}" for number in range(50)])
    carriers = DeliveryLanes(yard.source)
    deliver_until(carriers, lambda: yard.under_way >= delivery_lanes.THREADS)
    assert (yard.under_way, len(yard.waiting)) == (delivery_lanes.THREADS, 50 - delivery_lanes.THREADS)
    yard.let_go.set()
    deliver_until(carriers, lambda: not yard.waiting)
    assert (carriers.idle(60), yard.most) == (True, delivery_lanes.THREADS)


def test_a_dead_lane_rests_longer_each_time_until_it_is_reached():
    now = [0.0]
    yard = Yard("dead", "quick")
    carriers = DeliveryLanes(yard.source, clock=lambda: now[0])

    def tried() -> bool:
        """Whether a delivery on the lane is tried now."""
        before = len(yard.done)
        carriers.deliver_due()
        assert carriers.idle(60)
        yard.waiting[:] = ["dead"]
        return len(yard.done) > before

    rests = []
    assert tried()
    for _ in range(8):
        began = now[0]
        while not tried():
            now[0] += 0.5
        rests.append(now[0] - began)
    assert (rests, "quick" in yard.done) == ([1, 2, 4, 8, 16, 32, 60, 60], True)


def test_a_delivery_that_ends_during_the_query_makes_room_in_the_same_round():
    ended = threading.Event()
    carriers: DeliveryLanes

    def source(shut) -> list[Job]:
        """The second job appears when the first has ended, just after the query for due jobs."""
        found = jobs.pop(0) if jobs else []
        if not found and not ended.is_set():
            let_go.set()
            assert carriers.idle(60)
            ended.set()
        return found

    let_go, carried = threading.Event(), []
    first = Job("a", lambda: True, lambda: let_go.wait(60))
    second = Job("a", lambda: True, lambda: carried.append("second") or True)
    jobs = [[first], [], [second]]
    carriers = DeliveryLanes(source)
    carriers.deliver_due()
    assert (carriers.idle(60), carried) == (True, ["second"])


def test_a_job_that_raises_or_is_not_claimed_keeps_no_thread(caplog):
    def boom() -> bool:
        raise RuntimeError("boom")

    rounds = [[Job("a", lambda: True, boom), Job("b", lambda: False, boom)]]
    carriers = DeliveryLanes(lambda shut: rounds.pop() if rounds else [])
    carriers.deliver_due()
    assert (carriers.idle(60), carriers._shut(), [record.levelname for record in caplog.records]) == (
        True,
        [],
        ["ERROR"],
    )


def test_a_delivery_that_gets_no_thread_leaves_its_lane_open():
    done: list[str] = []
    carriers = DeliveryLanes(lambda shut: [] if done or "a" in shut else [Job("a", lambda: True, work)])

    def work() -> bool:
        done.append("a")
        return True

    # No machine has room for a stack of this size.
    usual = threading.stack_size(1 << 47)
    try:
        for _ in range(delivery_lanes.THREADS_PER_LANE):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                carriers.deliver_due()
    finally:
        threading.stack_size(usual)
    assert (carriers.idle(0), carriers._shut()) == (True, [])
    carriers.deliver_due()
    assert (carriers.idle(60), done) == (True, ["a"])


@pytest.mark.django_db(transaction=True)
def test_a_silent_endpoint_does_not_delay_another(settings, monkeypatch):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    monkeypatch.setattr(http_post, "SECONDS", 300)
    owner = alice()
    with Receiver(lambda got: silent) as dead, Receiver() as good:
        make_endpoint(dead.url())
        make_endpoint(good.url())
        for number in range(30):
            make_request(owner, workflow=make_workflow(owner, key=f"run-{number}"))
        carriers = DeliveryLanes(webhooks.due_jobs)
        deliver_until(carriers, lambda: len(good.got) >= 30)
        assert len(dead.got) == delivery_lanes.THREADS_PER_LANE
        dead.closing.set()
        assert carriers.idle(60)
    delivered = OutboxEvent.objects.filter(delivered_at__isnull=False).values_list("target").distinct().count()
    assert (delivered, sum(done for _, done, _, _ in states())) == (1, 30)


@pytest.mark.django_db(transaction=True)
def test_any_response_keeps_a_lane_open(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    owner = alice()
    with Receiver(lambda got: answer(500)) as there:
        make_endpoint(there.url())
        for number in range(10):
            make_request(owner, workflow=make_workflow(owner, key=f"run-{number}"))
        carriers = DeliveryLanes(webhooks.due_jobs)
        deliver_until(carriers, lambda: len({got.id for got in there.got}) >= 10)
        assert carriers.idle(60)
