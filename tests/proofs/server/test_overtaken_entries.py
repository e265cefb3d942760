"""GET /api/v1/events with overlapping transactions: no entry is skipped."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction

from approvals.api.agentforge import feed
from approvals.db import append_only
from approvals.db.pool import run
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Kind
from tests.support.desk.following import following
from tests.support.desk.requests import make_request
from tests.support.machines import machine, served
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


def test_entries_after_an_uncommitted_one_are_held_back(monkeypatch):
    owner = alice()
    asker = machine(owner, "read")

    @transaction.atomic
    def overtaken() -> tuple[ApprovalRequest, ApprovalRequest, dict]:
        # A reader's view on PostgreSQL while an earlier transaction is about to commit.
        first, second = make_request(owner, Kind.QUESTION), make_request(owner, Kind.QUESTION)
        entry = AuditEntry.objects.get(request_id=first.pk)
        row = {field.attname: getattr(entry, field.attname) for field in AuditEntry._meta.concrete_fields}
        AuditEntry.objects.filter(pk=entry.pk)._raw_delete("default")
        return first, second, row

    async def story() -> bool:
        monkeypatch.setattr(feed, "OVERLAP", timedelta(hours=1))
        await run(make_request, owner, Kind.QUESTION)
        async with following(asker) as follower:
            first, second, row = await run(overtaken)
            assert await follower.nothing()
            await run(lambda: AuditEntry.objects.create(**row))
            heard = await follower.hear(6)
            assert [one.own_id for one in heard if one.event == "interrupt"] == [str(first.pk), str(second.pk)]
            (_, third, _) = await run(overtaken)
            assert await follower.nothing()
            # By now, the missing entry was rolled back.
            monkeypatch.setattr(feed, "OVERLAP", timedelta(0))
            await follower.hear(9)
            return [one.own_id for one in follower.heard if one.event == "interrupt"][2:] == [str(third.pk)]

    with_switch(lambda: served(story))


def with_switch(work) -> None:
    """The tests' own database lets rows go while the maintenance row is there (tests/conftest.py puts it back)."""
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {append_only.SWITCH} (reason) VALUES ('an entry that is not visible yet')")
    assert work()
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {append_only.SWITCH}")
