"""Followers of the record while transactions overlap: nothing is lost, nothing comes out of order, nothing waits for ever."""

from __future__ import annotations

import contextlib
import json
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction

from approvals import actions
from approvals.api.agentforge import feed
from approvals.models import AuditEntry
from approvals.record import export, sequence
from approvals.states import Door, WorkflowState
from tests.proofs.postgresql.racing import Act, gate_before_the_record, until
from tests.support.desk.requests import make_request, make_workflow
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


def exported(after: int) -> list[int]:
    """The numbers of the entries that a client gets which has all up to `after`."""

    async def collect() -> str:
        return "".join([piece async for piece in export.lines(AuditEntry.objects.filter(pk__gt=after), "jsonl")])

    return [json.loads(line)["id"] for line in async_to_sync(collect)().splitlines()]


class Follower:
    """Reads on from where it is."""

    def __init__(self) -> None:
        self.cursor, self.heard = feed.start_cursor(""), list[int]()

    def look(self) -> list[int]:
        """The numbers of the entries that came, whole pages of them."""
        came, more = list[int](), True
        while more:
            page = feed.read_page(self.cursor)
            self.cursor, more = page.cursor, page.more
            came += [entry.pk for entry in page.entries]
        self.heard += came
        return came


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    # The numbers of entries begin anew with every test; a process's memory of them is for one database.
    monkeypatch.setattr(sequence, "_horizon", sequence.Horizon())


@pytest.mark.parametrize("overlap", [timedelta(0), feed.OVERLAP], ids=["longer than is waited for", "as it is"])
def test_a_slow_end_of_three_hundred_requests_hides_nothing_from_a_follower(monkeypatch, overlap):
    monkeypatch.setattr(feed, "OVERLAP", overlap)
    owner = alice()
    large = make_workflow(owner)
    requests = [make_request(owner, workflow=large) for _ in range(300)]
    before = AuditEntry.objects.latest("pk").pk
    until(lambda: feed.read_page(feed.StreamCursor(before)).entries, "the record up to here can be read")
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


@contextmanager
def transaction_of_another_table():
    """A transaction of our database that has written to another table and runs on; yields its id."""
    given = connection.get_connection_params() | {"autocommit": True}
    options = {name: given[name] for name in ("host", "port", "user", "password") if given.get(name)}
    with psycopg.connect(dbname=given["dbname"], **options) as ours:
        ours.execute("INSERT INTO auth_group (name) VALUES ('batch')")
        yield ours.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0]
        ours.rollback()


@contextmanager
def transaction_of_another_database():
    """A transaction of another database of this server that runs on; yields its id."""
    given = connection.get_connection_params() | {"autocommit": True}
    options = {name: given[name] for name in ("host", "port", "user", "password") if given.get(name)}
    with psycopg.connect(dbname="postgres", autocommit=True, **options) as server:
        server.execute("CREATE DATABASE neighbour")
        try:
            with psycopg.connect(dbname="neighbour", **options) as neighbour:
                neighbour.execute("CREATE TABLE batch (id int)")
                yield neighbour.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0]
        finally:
            server.execute("DROP DATABASE neighbour WITH (FORCE)")


def oldest_running() -> int:
    """The oldest transaction that runs on this server: by an earlier rule, a gap waited until it had ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("running", [transaction_of_another_table, transaction_of_another_database])
def test_a_gap_does_not_wait_for_a_transaction_of_another_table_or_database(monkeypatch, running):
    monkeypatch.setattr(feed, "OVERLAP", timedelta(0))
    owner = alice()
    make_request(owner)
    before = AuditEntry.objects.latest("pk").pk
    follower = Follower()
    with running() as other:
        with contextlib.suppress(RuntimeError), transaction.atomic():
            make_request(owner, title="Never mind")
            raise RuntimeError("power cut")
        told = AuditEntry.objects.get(request_id=make_request(owner).pk).pk
        assert told == before + 2
        assert (follower.look(), exported(before)) == ([told], [told])
        assert oldest_running() == other


def test_what_appears_between_the_read_and_the_look_is_told_in_its_place(monkeypatch):
    monkeypatch.setattr(feed, "OVERLAP", timedelta(0))
    owner = alice()
    make_request(owner)
    before = AuditEntry.objects.latest("pk").pk
    follower = Follower()
    with gate_before_the_record("Slow one") as open_the_gate:
        slow = Act(lambda: make_request(owner, title="Slow one")).begun()
        slow.until_it_waits()
        make_request(owner)
        look = sequence.settled

        def commit_first() -> int:
            open_the_gate()
            slow.ended()
            return look()

        monkeypatch.setattr(sequence, "settled", commit_first)
        follower.look()
    assert follower.heard == [before + 1, before + 2]


def test_who_copies_the_record_piece_by_piece_misses_nothing_that_comes_late():
    owner = alice()
    make_request(owner)
    before = AuditEntry.objects.latest("pk").pk
    with gate_before_the_record("Slow one") as open_the_gate:
        slow = Act(lambda: make_request(owner, title="Slow one")).begun()
        slow.until_it_waits()
        make_request(owner)
        assert exported(before) == []
        open_the_gate()
        slow.ended()
    wanted = list(AuditEntry.objects.filter(pk__gt=before).order_by("pk").values_list("pk", flat=True))
    assert len(wanted) == 2
    until(lambda: exported(before) == wanted, "both are there, in order")


def test_who_copies_the_record_does_not_wait_for_what_was_given_up():
    owner = alice()
    make_request(owner)
    before = AuditEntry.objects.latest("pk").pk
    with contextlib.suppress(RuntimeError), transaction.atomic():
        make_request(owner, title="Never mind")
        raise RuntimeError("power cut")
    told = AuditEntry.objects.get(request_id=make_request(owner).pk).pk
    assert told == before + 2
    until(lambda: exported(before) == [told], "what came behind it is there")
