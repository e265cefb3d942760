"""Signals and notifications leave after the commit; the record commits with its action."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.db import IntegrityError, connection, transaction

from approvals import actions
from approvals.live import doorbell
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.signals import decided
from approvals.states import Kind, Verdict
from tests.support import vendors
from tests.support.database import rolled_back
from tests.support.desk.requests import (
    PAST,
    cancel,
    decide,
    decisions,
    events,
    make_request,
    make_workflow,
    stored,
    waits,
)
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def heard_signals() -> Iterator[list[Any]]:
    """The ids that the signal was sent with, each with whether a transaction was still open."""
    heard: list[Any] = []

    def listen(sender: object, *, request_id: Any, **_: Any) -> None:
        heard.append((request_id, connection.in_atomic_block))

    decided.connect(listen)
    try:
        yield heard
    finally:
        decided.disconnect(listen)


@contextmanager
def a_page_listening_on(group: str) -> Iterator[Any]:
    """A real event loop in a thread with a channel in `group`; yields a function that waits for the next message."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    layer = get_channel_layer()

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(timeout=60)

    async def join() -> str:
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        return channel

    doorbell.use_loop(loop)
    channel = run(join())
    try:
        yield lambda: run(layer.receive(channel))
    finally:
        run(layer.group_discard(group, channel))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


ENDS = {
    "decided": lambda request, by: decide(request, by, Verdict.APPROVE),
    "cancelled": lambda request, by: cancel(request, by),
    "expired": lambda request, by: actions.expire(request.pk),
}


def due(kind_of_end: str) -> dict[str, Any]:
    return {"deadline_at": PAST} if kind_of_end == "expired" else {}


@pytest.mark.parametrize("end", list(ENDS))
def test_the_signal_is_sent_once_after_the_outermost_commit(end):
    request, decider = make_request(alice(), **due(end)), bob()
    with heard_signals() as heard:
        with transaction.atomic():
            ENDS[end](request, decider)
            assert heard == []
        assert heard == [(request.pk, False)]


@pytest.mark.parametrize("end", list(ENDS))
def test_a_rollback_sends_and_records_nothing(end):
    request, decider = make_request(alice(), **due(end)), bob()
    with heard_signals() as heard:
        with rolled_back():
            ENDS[end](request, decider)
        assert heard == []
    assert (stored(request).status, decisions(request), events(request)) == ("pending", [], ["request.created"])
    assert waits(request.workflow) == ("suspended", 1, 2, True)


def test_a_replay_and_a_refusal_send_nothing():
    request, decider = make_request(alice()), bob()
    decide(request, decider, Verdict.APPROVE)
    with heard_signals() as heard:
        assert decide(request, decider, Verdict.APPROVE).replayed is True
        with pytest.raises(Exception, match="was approved"):
            decide(request, decider, Verdict.REJECT)
    assert heard == []


def test_a_failing_receiver_affects_neither_the_decision_nor_other_receivers():
    request, decider = make_request(alice()), bob()

    def broken(sender: object, **_: Any) -> None:
        raise ConnectionError("Redis is gone")

    decided.connect(broken)
    try:
        with heard_signals() as heard:
            outcome = decide(request, decider, Verdict.APPROVE)
    finally:
        decided.disconnect(broken)
    assert (outcome.replayed, decisions(request)) == (False, [outcome.decision])
    assert (heard, stored(request).status) == ([(request.pk, False)], "approved")


@pytest.mark.parametrize("group_of", [lambda owner: doorbell.DESK, lambda owner: doorbell.user_group(owner.pk)])
def test_pages_are_notified_with_ids_after_the_commit_and_not_after_a_rollback(group_of):
    owner, decider = alice(), bob()
    lost, kept = make_request(owner), make_request(owner)
    with a_page_listening_on(group_of(owner)) as next_message:
        with rolled_back():
            decide(lost, decider, Verdict.APPROVE)
        decide(kept, decider, Verdict.APPROVE)
        changed = {"type": "workflow.changed", "workflow": kept.workflow_id, "request": str(kept.pk)}
        assert next_message() == {**changed, "status": "approved", "group": group_of(owner)}
        new = make_request(owner, workflow=kept.workflow)
        changed = {"type": "workflow.changed", "workflow": new.workflow_id, "request": str(new.pk)}
        assert next_message() == {**changed, "status": "pending", "group": group_of(owner)}


def test_a_notification_without_a_running_loop_is_no_error():
    loop = asyncio.new_event_loop()
    loop.close()
    doorbell.use_loop(loop)
    assert decide(make_request(alice()), bob(), Verdict.APPROVE).decision.verdict == "approve"


def no_audit_rows_can_be_written() -> AbstractContextManager[None]:
    """A database that fails between a decision and its record."""
    return vendors.refusing_inserts("approvals_auditentry", "disk full")


@pytest.mark.parametrize("end", list(ENDS))
def test_a_decision_that_cannot_be_recorded_is_not_made(end):
    request, decider = make_request(alice(), **due(end)), bob()
    with heard_signals() as heard, no_audit_rows_can_be_written():
        with pytest.raises(IntegrityError, match="disk full"):
            ENDS[end](request, decider)
        assert (stored(request).status, Decision.objects.count(), heard) == ("pending", 0, [])
        assert waits(request.workflow) == ("suspended", 1, 2, True)
    ENDS[end](request, decider)
    assert (stored(request).status != "pending", events(request)[1:]) == (True, [f"request.{end}"])


def test_a_request_that_cannot_be_recorded_is_not_created():
    workflow = make_workflow(owner := alice())
    with no_audit_rows_can_be_written(), pytest.raises(IntegrityError, match="disk full"):
        make_request(owner, Kind.QUESTION, workflow=workflow)
    assert (ApprovalRequest.objects.count(), AuditEntry.objects.count()) == (0, 0)
    assert waits(workflow) == ("running", 0, None, False)
