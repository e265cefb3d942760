"""Rules are evaluated with the same facts on an ask, in a replay, and in a trial over REST."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.access.standing import standing_of
from approvals.actions.asks.facts import rules_for_asking, verdict_on
from approvals.asking.asks import Ask
from approvals.models import ApprovalRequest, Role, Workflow
from approvals.policy.rules import Policy, PolicyVerdict
from approvals.queries.policy.rules.policy_versions import rules_of
from approvals.queries.policy.rules.replay import judged
from approvals.states import Kind, Priority
from tests.approvals.actions.policy.granting import ask
from tests.approvals.policy.writing import facts
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.machine import Machine
from tests.support.people import make_person

pytestmark = pytest.mark.django_db

#: In Berlin it is Sunday already, and 3 o'clock: the clock was changed an hour ago.
AT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
TOOL, INPUT = "mcp__bank__Wire", {"amount": 120.0, "to": {"name": "Zoë", "tags": ["a", None]}, "big": 2**53 - 1}
CONTEXT = {"ticket": ["T-1", 7]}
#: Every fact, with the only value that it may have.
KNOWN = {
    "tool": f"tool == '{TOOL}'",
    "agent": "agent == 'Billing'",
    "kind": "kind == 'approval'",
    "source": "source == 'api'",
    "server": "server == 'bank'",
    "priority": "priority == 'normal'",
    "on_behalf_of": "on_behalf_of == 'dora'",
    "input": "input == {'amount': 120, 'to': {'name': 'Zoë', 'tags': ['a', null]}, 'big': 9007199254740991}",
    "context": "context == {'ticket': ['T-1', 7]}",
    "requester": "requester == {'name': 'ada', 'teams': ['finance', 'support'], 'roles': ['auditor']}",
    "hour": "hour == 3",
    "weekday": "weekday == 7",
    "now": "now == timestamp('2026-03-29T01:30:00Z')",
}
#: Raises the priority, so that it differs from that of the ask.
RAISED = {"name": "Raised", "then": "ask", "ask": {"priority": "high"}}


def rules() -> list[dict[str, Any]]:
    return [{"name": name, "when": f"!({condition})", "then": "ask"} for name, condition in KNOWN.items()] + [RAISED]


@pytest.fixture
def asker(settings):
    settings.TIME_ZONE = "Europe/Berlin"
    person = make_person("ada", "add_approvalrequest")
    for name in ("support", "finance"):
        person.groups.create(name=name)
    person.groups.add(Role.objects.get(name="auditor").group)
    return person


def asked(asker) -> Workflow:
    """Ask it at that time, and return its workflow."""
    apply_policy(RAISED)
    request = ask(asker, INPUT, tool=TOOL, agent="Billing", context=CONTEXT)
    assert (request.priority, request.asked_priority) == (Priority.HIGH, Priority.NORMAL)
    ApprovalRequest.objects.filter(pk=request.pk).update(created_at=AT, on_behalf_of="dora")
    return request.workflow


def live(asker, workflow: Workflow) -> PolicyVerdict:
    """Return the result of an ask at that time."""
    wanted = Ask(kind=Kind.APPROVAL, title="Wire?", tool_name=TOOL, input=INPUT, context=CONTEXT)
    settings = rules_for_asking(TOOL, asker.pk)
    return verdict_on(wanted, settings, workflow, requester=asker, on_behalf_of="dora", at=AT)


def replayed(policy: Policy) -> PolicyVerdict:
    [(_row, verdict)] = judged(policy, standing_of(administrator()), since=AT - timedelta(days=1), most=10)
    return verdict


def test_every_door_gets_equal_facts_for_the_same_request(asker):
    assert KNOWN.keys() == facts().values_with_requester.keys(), "a new fact needs its line here"
    workflow = asked(asker)
    version = apply_policy(*rules())
    policy = rules_of(version.number, version.digest)
    call = {"tool_name": TOOL, "input": INPUT, "agent": "Billing", "context": CONTEXT}
    sent = call | {"requester": "ada", "on_behalf_of": "dora", "at": "2026-03-29T01:30:00Z"}
    answer = Machine(administrator()).post("/policy/evaluate", sent).body
    verdicts = [live(asker, workflow), replayed(policy)]
    # A rule that is named here is about the fact that a door has wrong.
    assert [verdict.rule.name for verdict in verdicts] + [answer["rule"]] == ["Raised"] * 3
    assert [verdict.why for verdict in verdicts] + [answer["why"]] == [None] * 3
