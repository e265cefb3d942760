"""A request that expires on terms that stop the run ends the run: its other pending requests are cancelled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.api.mcp.results import outcome, permission
from approvals.api.outcomes import ReadRequest
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.exceptions import Conflict, Expired
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.states import Door, Verdict
from tests.approvals.actions.policy.granting import ask
from tests.support.desk.ruling import apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

HALT = {
    "name": "Stop",
    "match": {"tools": ["refund"]},
    "then": "ask",
    "ask": {"deadline": {"after": 600, "then": "halt"}},
}


def expire(request: ApprovalRequest) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=timezone.now() - timedelta(seconds=1))
    sweep.run_once()


def stored(request: ApprovalRequest) -> ApprovalRequest:
    return ApprovalRequest.objects.select_related("decision", "workflow").get(pk=request.pk)


def test_the_run_is_cancelled_with_all_that_it_waits_for():
    apply_policy(HALT)
    asker = alice()
    request = ask(asker, workflow="run-1")
    other = ask(asker, workflow="run-1", tool="mail")
    elsewhere = ask(asker, workflow="run-2", tool="mail")
    expire(request)
    ended = stored(other)
    assert (stored(request).halted, ended.status, ended.halted) == (True, "cancelled", False)
    assert (
        ended.decision.comment == "No one decided another request before its deadline, so the policy stopped the run."
    )
    workflow = Workflow.objects.get(key="run-1")
    assert (workflow.state, workflow.open_count, workflow.ended_at is not None) == ("cancelled", 0, True)
    assert stored(elsewhere).pending
    with pytest.raises(Conflict):
        ask(asker, workflow="run-1")
    assert AuditEntry.objects.get(event="request.expired").data["halted"] is True


def test_a_workflow_of_one_request_is_cancelled():
    apply_policy(HALT)
    request = ask(alice())
    expire(request)
    assert Workflow.objects.get().state == "cancelled"


def test_in_time_nothing_is_stopped():
    apply_policy(HALT)
    request = ask(alice(), workflow="run-1")
    actions.decide(request.pk, Answer(Verdict.REJECT), by=bob(), via=Door.DASHBOARD)
    assert (Workflow.objects.get().state, stored(request).halted) == ("running", False)


def test_whoever_decides_too_late_ends_it_in_the_same_way():
    apply_policy(HALT)
    request = ask(alice(), workflow="run-1")
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Expired) as refusal:
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=bob(), via=Door.DASHBOARD)
    assert (Workflow.objects.get().state, refusal.value.members()["halted"]) == ("cancelled", True)


@pytest.mark.shows("rest", "halted")
@pytest.mark.shows("mcp", "halted")
def test_every_protocol_says_so_in_its_own_words():
    apply_policy(HALT)
    agent = Machine(alice())
    asked = agent.ask()
    request = ApprovalRequest.objects.get(pk=asked["id"])
    expire(request)
    read = agent.get(f"/requests/{asked['id']}").body
    assert (read["status"], read["decision"]["halted"], read["decision"]["verdict"]) == ("expired", True, "expire")
    for_model = outcome(ReadRequest(stored(request)))
    assert (for_model["halted"], for_model["message"].startswith("No one decided before the deadline")) == (True, True)
    assert permission(ReadRequest(stored(request))) == {
        "behavior": "deny",
        "message": for_model["message"],
        "interrupt": True,
    }
