"""The policy is written in versions: with permission, on record, and never over a version applied meanwhile."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError

from approvals.actions.policy import write_policy
from approvals.administration.changes.actions import withdraw_change
from approvals.exceptions import Conflict, Invalid, NotAllowed, NotFound
from approvals.models import AuditEntry, PendingChange, PolicyVersion
from approvals.queries.policy.rules.policy_versions import live_version
from approvals.states import Door
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.people import bob, make_person

pytestmark = pytest.mark.django_db

ALLOW, DENY = ({"name": "All", "then": then} for then in ("allow", "deny"))


def write(*rules, based_on=None, reason="Because.", by=None, **more):
    document = {"rules": list(rules), **more}
    return write_policy(document, based_on=based_on, reason=reason, by=by or administrator(), via=Door.REST)


def states() -> list[tuple[int, str]]:
    return list(PolicyVersion.objects.order_by("number").values_list("number", "state"))


def test_each_change_is_a_version_with_its_author_and_reason_on_record():
    first = apply_policy(DENY, reason="A start.")
    second = apply_policy(ALLOW, four_eyes=True, reason="Too strict.")
    assert states() == [(1, "replaced"), (2, "live")]
    assert (second.author_name, second.reason, second.based_on, live_version()) == ("root", "Too strict.", 1, second)
    first.refresh_from_db()
    assert (first.replaced_at is not None, first.document) == (True, {"rules": [DENY]})
    found = AuditEntry.objects.filter(event="policy.applied").order_by("pk")
    assert [(entry.actor_name, entry.data["version"], entry.data["reason"]) for entry in found] == [
        ("root", 1, "A start."),
        ("root", 2, "Too strict."),
    ]


def test_a_change_of_a_version_that_was_replaced_is_refused():
    apply_policy(DENY)
    apply_policy(ALLOW, by=administrator("eve"))
    with pytest.raises(Conflict) as refusal:
        write(four_eyes=True, based_on=1)
    assert str(refusal.value) == (
        "This change is based on version 1, but version 2, applied by eve, is now live. "
        "Read it, and make your change again."
    )
    with pytest.raises(Conflict):
        write(DENY)
    assert len(states()) == 2


def test_what_changes_nothing_is_no_version():
    apply_policy(DENY)
    with pytest.raises(Conflict):
        write(DENY, based_on=1)
    assert states() == [(1, "live")]


def test_true_in_place_of_1_is_a_change_of_the_policy():
    rules = [
        {"name": "All", "match": {"input": [{"pointer": "/force", "equals": value}]}, "then": "deny"}
        for value in (1, True)
    ]
    apply_policy(rules[0])
    assert write(rules[1], based_on=1).live is True
    with pytest.raises(Conflict):
        write({**rules[0], "match": {"input": [{"pointer": "/force", "equals": True}]}}, based_on=2)


def test_only_administrators_write_the_policy():
    with pytest.raises(NotAllowed):
        write(DENY, by=bob())
    assert states() == []


@pytest.mark.parametrize("reason", [" ", "x" * 2_000])
def test_a_version_needs_a_reason(reason):
    with pytest.raises(Invalid) as refusal:
        write(DENY, reason=reason)
    assert list(refusal.value.errors) == ["reason"]


def test_faults_of_the_document_are_named():
    with pytest.raises(Invalid) as refusal:
        write({"name": "a", "then": "ask", "when": "tol == 1"})
    assert refusal.value.errors == {"rules.0.when": "line 1, column 1: undeclared reference to 'tol'"}


def test_a_second_administrator_confirms_what_loosens_as_soon_as_there_are_two():
    author, other = administrator(), administrator("eve")
    write(ALLOW, by=author)
    assert (states(), live_version()) == ([(1, "proposed")], None)
    change = waiting_change()
    with pytest.raises(NotAllowed):
        confirm(change, author)
    confirm(change, other)
    with pytest.raises(NotFound):
        confirm(change, other)
    confirmed = live_version()
    assert (confirmed.author_name, confirmed.settled_by_name, confirmed.state) == ("root", "eve", "live")
    events = AuditEntry.objects.filter(event__startswith="policy.").order_by("pk").values_list("event", "actor_name")
    assert list(events) == [("policy.proposed", "root"), ("policy.applied", "eve")]


def test_a_proposal_that_was_overtaken_cannot_be_confirmed():
    author, other = administrator(), administrator("eve")
    write(ALLOW, DENY | {"name": "Rest"}, by=author)
    first = waiting_change()
    write(ALLOW, by=author)
    second = PendingChange.objects.exclude(pk=first.pk).get()
    confirm(second, other)
    with pytest.raises(Conflict):
        confirm(first, other)
    withdraw_change(first.pk, by=author)
    assert states() == [(1, "declined"), (2, "live")]


def test_nothing_of_a_version_can_be_changed_behind_its_back():
    version = apply_policy(DENY)
    make_person("mallory")
    for change in ("document = '{}'", "author_name = 'mallory'", "reason = ''", "number = 7"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE approvals_policyversion SET {change}")
    with pytest.raises(DatabaseError), transaction.atomic():
        version.delete()
