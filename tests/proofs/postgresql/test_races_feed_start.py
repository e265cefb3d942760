"""A new follower of the record hears of every entry that was on its way when it came, however many have come behind it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

import pytest

from approvals import actions
from approvals.api.agentforge import feed
from approvals.models import AuditEntry
from approvals.record import sequence
from approvals.states import Door
from tests.proofs.postgresql.racing import Act, gate_before_the_record, until
from tests.support.database import rolled_back
from tests.support.desk.requests import make_request
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    # The numbers of entries begin anew with every test; a process's memory of them is for one database.
    monkeypatch.setattr(sequence, "_horizon", sequence.Horizon())
    monkeypatch.setattr(feed, "_seen", {})
    # All of a test happens within the minute that is allowed for wrong clocks.
    monkeypatch.setattr(sequence, "AT_WORK", sequence.AT_WORK.replace("1 minute", "0 seconds"))


def first_told(cursor: feed.StreamCursor) -> int:
    until(lambda: feed.read_page(cursor).entries, "something is told")
    return feed.read_page(cursor).entries[0].pk


@contextmanager
def on_its_way(owner, behind: int):
    """An entry that has its number and is not committed, and so many behind it that are; gives its number and the commit."""
    number = AuditEntry.objects.latest("pk").pk + 1
    with ExitStack() as stack:
        open_the_gate = stack.enter_context(gate_before_the_record("Slow one"))
        slow = Act(lambda: make_request(owner, title="Slow one")).begun()
        slow.until_it_waits()
        for _ in range(behind):
            make_request(owner)

        def commit() -> None:
            open_the_gate()
            slow.ended()

        yield number, commit


@pytest.mark.parametrize("behind", [1, 98, 99, 100, 150])
def test_it_is_told_however_many_have_come_behind_it(monkeypatch, behind):
    monkeypatch.setattr(feed, "BATCH", 100)
    owner = alice()
    make_request(owner)
    with on_its_way(owner, behind) as (number, commit):
        cursor = feed.start_cursor("")
        assert list(feed.read_page(cursor).entries) == []
        commit()
    assert AuditEntry.objects.filter(pk=number).exists()
    assert first_told(cursor) == number


def test_with_nothing_on_its_way_a_follower_begins_behind_the_last_entry():
    owner = alice()
    make_request(owner)
    with rolled_back():
        make_request(owner, title="Never mind")
    last = AuditEntry.objects.get(request_id=make_request(owner).pk).pk
    assert feed.start_cursor("") == feed.StreamCursor(last + 1)


def test_an_old_gap_that_nothing_can_fill_is_not_where_a_follower_begins_while_others_are_at_work():
    owner = alice()
    with rolled_back():
        make_request(owner, title="Never mind")
    make_request(owner)
    with on_its_way(owner, 0) as (number, commit):
        # It has begun after the gap, so it can't fill it.
        assert feed.start_cursor("") == feed.StreamCursor(number)
        commit()


def test_a_decision_that_is_on_its_way_is_told_as_well():
    owner = alice()
    request = make_request(owner)
    with gate_before_the_record(str(request.pk)) as open_the_gate:
        slow = Act(lambda: actions.cancel(request.pk, by=owner, via=Door.REST)).begun()
        slow.until_it_waits()
        for _ in range(120):
            make_request(owner)
        cursor = feed.start_cursor("")
        open_the_gate()
        slow.ended()
    (ending,) = AuditEntry.objects.filter(event="request.cancelled").values_list("pk", flat=True)
    assert first_told(cursor) == ending
