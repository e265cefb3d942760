"""How many statements the calls take that agents and approvers make all day; a budget, on every database."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.administration.keys.actions import create_key
from approvals.administration.tools.actions import store_tool_settings
from approvals.models.keys import ApiKey
from benchmarks.load.budgets import over
from tests.support import people
from tests.support.desk.carrying import make_endpoint
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.desk.scopes import make_scope
from tests.support.machine import APPROVAL, Machine

#: With transactions as they are in use: inside that of a test, each would be a savepoint.
pytestmark = pytest.mark.django_db(transaction=True)


def cost(work) -> int:
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


@pytest.fixture
def agent() -> Machine:
    machine = Machine(people.alice())
    machine.get("/requests")  # notes that the key is used, once a minute
    return machine


@pytest.fixture
def approver() -> Machine:
    machine = Machine(people.bob())
    machine.get("/requests")
    return machine


def each(agent: Machine, approver: Machine, **ask) -> dict[str, int]:
    """Return the statements of each call of one request's life."""
    asked = []
    found = {"ask": cost(lambda: asked.append(agent.ask(**ask)))}
    found["read"] = cost(lambda: agent.get(f"/requests/{asked[0]['id']}"))
    found["decide"] = cost(lambda: approver.decide(asked[0], "approve", comment="Yes"))
    found["report"] = cost(
        lambda: agent.post(
            f"/requests/{asked[0]['id']}/result", {"input_digest": asked[0]["input_digest"], "output": 1}
        )
    )
    return found


#: PostgreSQL takes a lock on the id of a tool call, and on the sessions of the decider; SQLite has one writer at a time.
LOCK = int(connection.vendor == "postgresql")


#: A report also adds its words to the search index.
BUDGET = {"ask": 8, "read": 2, "decide": 9, "report": 6}
CALL = {"tool_call_id": "call-1"}
NAMED = {"workflow_id": "run-1"}


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ({}, BUDGET),
        (CALL, BUDGET | {"ask": 9 + LOCK}),
        # The workflow that a client names is looked for first.
        (NAMED | CALL, BUDGET | {"ask": 10 + LOCK}),
    ],
)
def test_each_call_keeps_to_its_budget(agent, approver, given, budget):
    assert over(budget, each(agent, approver, **given)) == {}


def test_a_decision_without_a_comment_costs_as_much_as_an_ask(agent, approver):
    asked = []
    found = {
        "ask": cost(lambda: asked.append(agent.ask())),
        "decide": cost(lambda: approver.decide(asked[0], "approve")),
    }
    assert over({"ask": 8, "decide": 8}, found) == {}


def test_a_request_in_a_workflow_that_exists_keeps_to_the_budget_of_its_first(agent, approver):
    each(agent, approver, **NAMED | CALL)
    found = each(agent, approver, **NAMED | {"tool_call_id": "call-2"})
    assert over(BUDGET | {"ask": 10 + LOCK}, found) == {}


def test_repeating_a_call_costs_less(agent, approver):
    asked = agent.ask(tool_call_id="call-1")
    approver.decide(asked, "approve")
    found = {
        "ask": cost(lambda: agent.post("/requests", APPROVAL | {"tool_call_id": "call-1"})),
        "decide": cost(lambda: approver.decide(asked, "approve")),
    }
    assert over({"ask": 4 + LOCK, "decide": 4 + LOCK}, found) == {}


def test_many_keys_permissions_and_requests_change_nothing(agent, approver):
    before = each(agent, approver, tool_call_id="call-0")
    bob = approver.key.user
    bob.user_permissions.set(Permission.objects.all())
    for number in range(20):
        create_key(bob, name=f"key {number}", scopes=("read",))
        agent.ask(tool_call_id=f"other-{number}")
    assert (ApiKey.objects.count(), each(agent, approver, tool_call_id="call-1")) == (22, before)


def test_webhooks_cost_the_same_however_many_there_are(agent, approver):
    found = []
    for number in range(12):
        make_endpoint(f"https://app-{number}.example.org/")
        if number in {0, 11}:
            found.append(each(agent, approver, tool_call_id=f"call-{number}"))
    assert found[0] == found[1]
    assert over({"ask": 12 + LOCK, "read": 2, "decide": 12, "report": 9}, found[0]) == {}


TOGETHER = {"give": 17, "ask": 14 + LOCK, "read": 3, "decide": 13, "report": 6, "use": 15 + LOCK}


def test_scopes_rules_and_grants_together_keep_to_a_budget(agent, approver):
    """Of a call in a named workflow, with a condition about the requester: the figures of README and the documentation."""
    store_tool_settings("refund", {"key_fields": ["/amount"]}, by=administrator())
    make_scope(approver.key.user, by=User.objects.create_superuser("admin"), tools=["refund"])
    small = {"name": "Small", "when": "requester.name == 'nobody' && input.amount < 5", "then": "allow"}
    apply_policy(
        small, {"name": "Refunds", "match": {"tools": ["refund"]}, "ask": {"with_requester": True}, "then": "ask"}
    )
    grant = {"covers": "input", "audience": "key", "uses": 2}
    given = agent.ask(input={"amount": 7})
    found = {"give": cost(lambda: approver.decide(given, "approve", grant=grant))}
    each(agent, approver, **NAMED | CALL)
    found |= each(agent, approver, **NAMED | {"tool_call_id": "call-2"})
    found["use"] = cost(lambda: agent.ask(input={"amount": 7}, **NAMED | {"tool_call_id": "call-3"}))
    assert over(TOGETHER, found) == {}
    make_endpoint("https://app.example.org/")
    found = each(agent, approver, **NAMED | {"tool_call_id": "call-4"})
    assert over({name: TOGETHER[name] + (0 if name == "read" else 3) for name in found}, found) == {}
