"""A grant approves what it covers, so often and so long, and nothing else."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry, Decision, Workflow
from tests.approvals.actions.policy.granting import ask, grant, terms
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_an_equal_call_is_approved_by_the_grant_and_says_so():
    asker, decider = alice(), bob()
    given = grant(decider, asker, terms())
    request = ask(asker)
    decision = Decision.objects.get(request=request)
    assert (request.status, decision.verdict, decision.via) == ("approved", "approve", "grant")
    assert (decision.by_id, decision.by_name, decision.grant, decision.grant_use) == (decider.pk, "bob", given, 1)
    assert decision.approved_digest == request.input_digest
    given.refresh_from_db()
    assert (given.used, given.ended_at) == (1, None)
    assert given.last_used_at is not None
    assert Workflow.objects.get(pk=request.workflow_id).state == "completed"
    entries = AuditEntry.objects.filter(request_id=request.pk).order_by("pk")
    assert [(entry.event, entry.actor_name, entry.via) for entry in entries] == [
        ("request.created", "alice", "api"),
        ("request.decided", "bob", "grant"),
        ("grant.used", "bob", "grant"),
    ]
