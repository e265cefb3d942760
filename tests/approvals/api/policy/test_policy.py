"""The policy over REST: the right to read it, and its result for a call."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SMALL = {"name": "Small", "match": {"requesters": ["alice"]}, "when": "input.amount < 500", "then": "allow"}
NIGHT = {"name": "Night", "when": "hour < 6", "then": "ask", "ask": {"veto": True}}


@pytest.fixture
def machine() -> Machine:
    return Machine(administrator())


def test_the_live_policy_and_its_versions_are_read(machine):
    assert machine.get("/policy").refusal == (404, "not_found")
    alice()
    apply_policy(SMALL, reason="A start.")
    apply_policy(SMALL, NIGHT)
    live = machine.get("/policy").body
    assert (live["number"], live["state"], live["policy"]) == (2, "live", {"rules": [SMALL, NIGHT]})
    assert live["in_words"] == [
        {
            "name": "Small",
            "says": ["Allows requests from alice without asking.", "Only if: input.amount < 500"],
        },
        {
            "name": "Night",
            "says": [
                "Asks people about all requests.",
                "Only if: hour < 6",
                "The requester may not decide.",
                "One rejection ends it.",
            ],
        },
    ]
    listed = machine.get("/policy/versions").body["items"]
    assert [(each["number"], each["state"], each["based_on"]) for each in listed] == [
        (2, "live", 1),
        (1, "replaced", None),
    ]
    first = machine.get("/policy/versions/1").body
    assert (first["policy"], first["reason"], first["author"]) == ({"rules": [SMALL]}, "A start.", "root")
    assert machine.get("/policy/versions/7").refusal == (404, "not_found")


def test_only_administrators_and_auditors_read_it():
    alice()
    apply_policy(SMALL)
    auditor = Machine(make_person("ann", "view_auditentry"))
    assert auditor.get("/policy").status == 200
    for person in (bob(), make_person("eve")):
        other = Machine(person)
        for path in ("/policy", "/policy/versions", "/policy/versions/1"):
            assert other.get(path).refusal == (403, "not_allowed")
        assert other.post("/policy/evaluate", {}).refusal == (403, "not_allowed")
    assert Machine(administrator(), scopes=("ask",)).get("/policy").status == 403


def said(machine: Machine, **call) -> tuple:
    body = machine.post("/policy/evaluate", {"tool_name": "refund", **call}).body
    return body["then"], body["rule"], body["policy_version"]


def test_a_call_is_evaluated_and_nothing_is_asked(machine):
    alice()
    assert said(machine, input={"amount": 1}) == ("ask", None, None)
    apply_policy(SMALL, NIGHT)
    noon, night = "2026-11-24T12:00:00Z", "2026-11-24T03:00:00Z"
    assert said(machine, input={"amount": 1}, requester="alice", at=noon) == ("allow", "Small", 1)
    assert said(machine, input={"amount": 1}, at=noon) == ("ask", None, 1)
    body = machine.post("/policy/evaluate", {"input": {}, "requester": "alice", "at": noon}).body
    assert (body["then"], body["rule"], body["other_rules"]) == ("ask", "Small", [])
    assert body["why"].startswith("It is not certain which rule matches")
    body = machine.post("/policy/evaluate", {"at": night}).body
    assert (body["rule"], body["control"], body["terms"]) == ("Night", "four_eyes", {"veto": True})
    assert not ApprovalRequest.objects.exists()


def test_another_policy_can_be_sent_along(machine):
    assert said(machine, policy={"rules": [{"name": "No", "then": "deny"}]}) == ("deny", "No", None)
    refused = machine.post("/policy/evaluate", {"policy": {"rules": [{"name": "No", "then": "deny", "when": "x"}]}})
    assert (refused.refusal, list(refused.body["errors"])) == ((422, "invalid"), ["policy.rules.0.when"])


@pytest.mark.parametrize("call", [{"requester": "nobody"}, {"kind": "x"}, {"input": []}, {"other": 1}, {"at": "soon"}])
def test_what_is_no_call_is_refused(machine, call):
    assert machine.post("/policy/evaluate", call).refusal[0] == 422
