"""The policy and calls with files: rules don't cover files, so none allows such a call."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.administration.tools.actions import store_tool_settings
from approvals.models import ApprovalRequest, AuditEntry, Grant
from approvals.queries.policy.grants.covered import coverage_of, waiting_under
from approvals.queries.policy.grants.ledger import preview
from approvals.queries.policy.rules.policy_versions import live_version, rules_of
from approvals.queries.policy.rules.replay import judged
from approvals.states import Audience, Width
from tests.approvals.actions.policy.granting import terms
from tests.support.desk.files import attachment, folder
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, bob

__all__ = ["folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]

FREE = {"name": "Free", "match": {"tools": ["refund"]}, "then": "allow"}
NEVER = {"name": "Never", "match": {"tools": ["wire"]}, "then": "deny"}


@pytest.fixture
def asked():
    """Ask about a call with these files; return how it ends."""
    machine = Machine(alice())
    return lambda tool, *files: machine.ask(tool_name=tool, input={"amount": 5}, attachments=list(files))["status"]


def test_a_call_with_files_is_asked_about_where_a_rule_would_allow_it_and_denied_where_one_denies_it(asked):
    apply_policy(FREE, NEVER)
    statuses = [asked("refund"), asked("refund", attachment()), asked("wire", attachment())]
    assert statuses == ["approved", "pending", "rejected"]
    entry = AuditEntry.objects.get(event="request.created", request_id=ApprovalRequest.objects.get(status="pending").pk)
    assert (entry.data["rule"], entry.data["why_asked"]) == ("Free", "files")


@pytest.mark.parametrize("covers", ["tool", "fields"])
def test_a_grant_that_is_not_of_one_input_covers_no_call_with_files(covers):
    store_tool_settings("refund", {"key_fields": ["/amount"]}, by=administrator())
    agent, approver = Machine(alice()), Machine(bob())
    grant = {"covers": covers, "audience": "key", "uses": 5}
    assert approver.decide(agent.ask(), "approve", grant=grant).status == 200
    statuses = [agent.ask(attachments=[attachment()])["status"], agent.ask()["status"]]
    assert (statuses, Grant.objects.get().used) == (["pending", "approved"], 1)


@pytest.mark.parametrize("width", [Width.TOOL, Width.FIELDS])
def test_a_call_with_files_is_not_said_to_be_covered_by_such_a_grant(width):
    store_tool_settings("refund", {"key_fields": ["/amount"]}, by=administrator())
    agent, giver = Machine(alice()), bob()
    approver = Machine(giver)
    for files in ([], [attachment()]):
        approver.decide(agent.ask(attachments=files), "approve")
    request, plain, _with_files = (
        ApprovalRequest.objects.get(pk=agent.ask(attachments=files)["id"]) for files in ([], [], [attachment()])
    )
    wanted = terms(width, Audience.KEY)
    shown = preview(standing_of(giver), request, wanted)
    waiting = waiting_under(standing_of(giver), coverage_of(request, wanted, ["/amount"]))
    assert (shown.count, [each.pk for each in waiting.requests]) == (1, [plain.pk])


def test_a_replay_asks_about_calls_with_files_too(asked):
    apply_policy(FREE)
    asked("refund", attachment())
    asked("refund")
    live = live_version()
    since = timezone.now() - timedelta(days=1)
    verdicts = [
        verdict
        for _row, verdict in judged(
            rules_of(live.number, live.digest), standing_of(administrator()), since=since, most=10
        )
    ]
    assert [(verdict.then, verdict.why) for verdict in verdicts] == [("allow", None), ("ask", "files")]
