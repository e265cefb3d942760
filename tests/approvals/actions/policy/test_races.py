"""Of any number of calls at the same moment, a grant approves exactly as many as it has uses."""

from __future__ import annotations

from collections import Counter

import pytest
from django.contrib.auth.models import User

from approvals.actions.policy import ask_about_everything, end_due_grants, revoke_grant
from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant
from approvals.states import Door
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.approvals.actions.test_races import race
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


def numbers_of_uses() -> list[int | None]:
    return sorted(Decision.objects.exclude(grant=None).values_list("grant_use", flat=True))


def test_fifty_calls_share_ten_uses_and_the_others_wait_for_a_person():
    asker, decider = alice(), bob()
    give(decider, asker, terms(uses=10))
    requests = race(*([lambda: ask(asker)] * 50))
    assert [result for result in requests if not isinstance(result, ApprovalRequest)] == []
    stored = ApprovalRequest.objects.filter(pk__in=[request.pk for request in requests])
    assert Counter(stored.values_list("status", flat=True)) == {"approved": 10, "pending": 40}
    given = Grant.objects.get()
    assert (given.used, given.ended_why, numbers_of_uses()) == (10, "used_up", list(range(1, 11)))
    assert AuditEntry.objects.filter(event="grant.used").count() == 10
    assert AuditEntry.objects.filter(event="grant.ended").count() == 1


def test_calls_in_one_workflow_share_the_uses_too():
    asker, decider = alice(), bob()
    give(decider, asker, terms(uses=3), workflow="run-1")
    race(*([lambda: ask(asker, workflow="run-1")] * 8))
    workflow = ApprovalRequest.objects.latest("created_at").workflow
    assert (numbers_of_uses(), workflow.open_count, workflow.state) == ([1, 2, 3], 5, "suspended")


def test_a_use_is_either_before_the_end_of_a_grant_or_not_at_all():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms(uses=100))
    results = race(
        *([lambda: ask(asker)] * 6),
        lambda: revoke_grant(given.pk, by=decider, via=Door.DASHBOARD),
        *([lambda: ask(asker)] * 6),
        end_due_grants,
    )
    assert [result for result in results if isinstance(result, Exception)] == []
    ended = Grant.objects.get()
    entries = AuditEntry.objects.filter(event__in=["grant.used", "grant.revoked"]).order_by("pk")
    assert [entry.event for entry in entries] == ["grant.used"] * ended.used + ["grant.revoked"]
    assert (ended.ended_why, numbers_of_uses()) == ("revoked", list(range(1, ended.used + 1)))
    assert ask(asker).status == "pending"


def test_nothing_is_approved_after_the_giver_was_deactivated_or_everything_is_asked():
    asker, decider = alice(), bob()
    give(decider, asker, terms(uses=100))
    race(
        *([lambda: ask(asker)] * 4),
        lambda: User.objects.filter(pk=decider.pk).update(is_active=False),
        lambda: ask_about_everything(on=True, by=decider, via=Door.DASHBOARD),
        *([lambda: ask(asker)] * 4),
    )
    used = Grant.objects.get().used
    assert numbers_of_uses() == list(range(1, used + 1))
    assert (ask(asker).status, Grant.objects.get().used) == ("pending", used)
