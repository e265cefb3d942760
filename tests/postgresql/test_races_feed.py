"""Followers of the record while transactions overlap: nothing is lost, nothing comes out of order, nothing waits for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from approvals import actions, feed, gaps
from approvals.models import AuditEntry
from approvals.states import Door, WorkflowState
from tests.approvals.helpers import make_request, make_workflow
from tests.people import alice
from tests.postgresql.racing import Act, gate_before_the_record, until

pytestmark = pytest.mark.django_db(transaction=True)


class Follower:
    """Reads on from where it is."""

    def __init__(self) -> None:
        self.cursor, self.heard = feed.start(""), list[int]()

    def look(self) -> list[int]:
        """The numbers of the entries that came, whole pages of them."""
        came, more = list[int](), True
        while more:
            page = feed.read(self.cursor)
            self.cursor, more = page.cursor, page.more
            came += [entry.pk for entry in page.entries]
        self.heard += came
        return came


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    # The numbers of entries begin anew with every test; what a process knows of them is for one database.
    monkeypatch.setattr(gaps, "_horizon", gaps.Horizon())


@pytest.mark.parametrize("overlap", [timedelta(0), feed.OVERLAP], ids=["longer than is waited for", "as it is"])
def test_a_slow_end_of_three_hundred_requests_hides_nothing_from_a_follower(monkeypatch, overlap):
    monkeypatch.setattr(feed, "OVERLAP", overlap)
    owner = alice()
    large = make_workflow(owner)
    requests = [make_request(owner, workflow=large) for _ in range(300)]
    before = AuditEntry.objects.latest("pk").pk
    until(lambda: feed.read(feed.Cursor(before)).entries, "the record up to here can be read")
    follower = Follower()
    # The requests end in the order of their ids: this one in the middle.
    held = sorted(request.pk for request in requests)[150]
    with gate_before_the_record(str(held)) as open_the_gate:
        slow = Act(
            lambda: actions.close_workflow(large.pk, state=WorkflowState.CANCELLED, by=owner, via=Door.REST)
        ).begun()
        slow.until_it_waits()
        for _ in range(20):
            make_request(owner)
            assert follower.look() == []
        open_the_gate()
        assert slow.ended() is True
    make_request(owner)
    wanted = list(AuditEntry.objects.filter(pk__gt=before).order_by("pk").values_list("pk", flat=True))
    assert len(wanted) == 321
    until(lambda: follower.look() == [] and len(follower.heard) >= 321, "all is told")
    assert follower.heard == wanted


def test_what_was_rolled_back_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(feed, "OVERLAP", timedelta(0))
    owner = alice()
    make_request(owner)
    follower = Follower()
    with gate_before_the_record("Never mind") as open_the_gate:

        def give_up() -> None:
            with transaction.atomic():
                make_request(owner, title="Never mind")
                raise RuntimeError("power cut")

        slow = Act(give_up).begun()
        slow.until_it_waits()
        told = make_request(owner)
        assert follower.look() == []
        open_the_gate()
        assert str(slow.ended()) == "power cut"
    entry = AuditEntry.objects.get(request_id=told.pk).pk
    until(lambda: follower.look() or follower.heard, "what came behind it is told")
    assert follower.heard == [entry]
