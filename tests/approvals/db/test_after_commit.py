"""Work after a commit may fail: the commit stays a success, and the failure is logged."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from approvals.db.transactions import after_commit

pytestmark = pytest.mark.django_db(transaction=True)


def fail(what: str, *, why: str) -> None:
    raise ConnectionError(f"{what}: {why}")


def test_a_failure_after_the_commit_is_logged_and_what_follows_still_happens(caplog):
    done: list[str] = []
    with transaction.atomic():
        Group.objects.create(name="Support")
        after_commit(fail, "Redis", why="gone")
        after_commit(done.append, "next")
        assert done == []
    assert (Group.objects.filter(name="Support").exists(), done) == (True, ["next"])
    assert caplog.messages == ["Error calling fail in on_commit() during transaction (Redis: gone)."]


def test_without_a_transaction_it_happens_at_once():
    done: list[str] = []
    after_commit(done.append, "now")
    assert done == ["now"]
