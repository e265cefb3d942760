"""Where it is not certain which rule matches, people decide on the terms of every rule that could, wherever it is asked."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from approvals.access.standing import standing_of
from approvals.api.rest.rules import Evaluation
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, AuditEntry
from approvals.queries.policy.rules.policy_versions import live_version, rules_asked_under, rules_of
from approvals.queries.policy.rules.replay import replay
from approvals.states import Audience, Control, Kind, Width
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.approvals.actions.policy.test_changed_inputs import edit
from tests.support.desk.requests import stored
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.desk.votes import make_team, progress_of, vote
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SMALL = {"name": "Small", "match": {"tools": ["refund"]}, "when": "input.amount < 50", "then": "allow"}
LARGE = {
    "name": "Large",
    "match": {"tools": ["refund"]},
    "then": "ask",
    "message": "Call the customer first.",
    "ask": {
        "stages": [{"groups": [{"teams": ["finance"]}, {"teams": ["security"]}]}],
        "deadline": {"after": 3600, "then": "halt"},
        "key_fields": ["/amount"],
    },
}
NEVER = {"name": "Never", "match": {"tools": ["refund"]}, "then": "deny"}


def decider(name: str) -> User:
    return make_person(name, "decide_approvalrequest", "view_approvalrequest")


def two_teams() -> User:
    """Make finance and security, each of two people; return one of finance."""
    finance, security = decider("finance-1"), decider("security-1")
    make_team("finance", finance, decider("finance-2"))
    make_team("security", security, decider("security-2"))
    return finance


def rules_recorded(request: ApprovalRequest) -> tuple:
    found = stored(request)
    created = AuditEntry.objects.get(event="request.created", request_id=request.pk).data
    recorded = (created["rule"], created.get("other_rules"), created.get("why_asked"))
    return found.status, found.rule, found.other_rules, recorded


def test_an_amount_as_text_takes_no_eyes_and_no_votes_away():
    finance = two_teams()
    apply_policy(SMALL, LARGE)
    asker = alice()
    request = ask(asker, {"amount": "50000"})
    assert rules_recorded(request) == ("pending", "Small", ["Large"], ("Small", ["Large"], "condition"))
    whole = ask(asker, {"amount": 50_000})
    now = stored(request)
    assert (now.terms, now.control) == (stored(whole).terms, Control.FOUR_EYES)
    assert now.deadline_at - now.created_at == timedelta(hours=1)
    assert now.takes_votes
    assert [rule.name for rule in rules_asked_under(now)] == ["Small", "Large"]
    vote(request, finance)
    assert (stored(request).status, progress_of(request)) == ("pending", "1 of 2, security missing")


def test_a_later_rule_that_denies_for_sure_denies():
    apply_policy(SMALL, NEVER)
    request = ask(alice(), {"amount": "50000"})
    assert rules_recorded(request) == ("rejected", "Never", None, ("Never", None, None))


def test_a_rule_that_could_deny_asks():
    apply_policy({**NEVER, "match": {"input": [{"pointer": "/amount", "at_least": 50}]}})
    request = ask(alice(), {"amount": "50000"})
    assert rules_recorded(request) == ("pending", "Never", None, ("Never", None, "condition"))


def test_no_grant_approves_what_is_not_certain():
    asker, giver = alice(), bob()
    give(giver, asker, terms(Width.TOOL, Audience.AGENT), {"amount": 1})
    apply_policy(SMALL)
    assert stored(ask(asker, {"amount": 50})).status == "approved"
    assert stored(ask(asker, {"amount": "50"})).status == "pending"


def test_changes_may_settle_which_rule_matches_but_not_find_another():
    finance = two_teams()
    other = {"name": "Other", "match": {"input": [{"pointer": "/note", "equals": "x"}]}, "then": "ask"}
    apply_policy(other, SMALL, LARGE)
    request = ask(alice(), {"amount": "50000"})
    with pytest.raises(Invalid, match="the policy rule “Other” applies"):
        edit(request, finance, {"amount": "50000", "note": "x"})
    assert edit(request, finance, {"amount": 50_000}) == "pending"
    assert progress_of(request) == "1 of 2, security missing"


def test_the_amount_is_the_one_that_the_limits_of_fewest_people_allow():
    def fields(name: str, pointer: str) -> dict:
        return {"name": name, "when": "input.missing == 1", "then": "ask", "ask": {"key_fields": [pointer]}}

    apply_policy(fields("Fee", "/fee"), fields("Sum", "/sum"))
    asker = alice()
    found = stored(ask(asker, {"fee": 1, "sum": 50_000}))
    assert (found.amount_pointer, found.amount) == ("/sum", 50_000)
    assert stored(ask(asker, {"fee": 1})).amount is None


def test_terms_that_no_one_can_meet_are_told_as_undecidable():
    make_team("finance", decider("finance-1"))
    one = {"stages": [{"groups": [{"teams": ["finance"]}]}]}
    alone = {"stages": [{"groups": [{"teams": ["finance"]}, {"people": ["finance-1"]}], "any": True}]}
    apply_policy({**SMALL, "ask": one}, {**LARGE, "ask": alone})
    asker = alice()
    assert stored(ask(asker, {"amount": 5_000})).undecidable_since is None
    assert stored(ask(asker, {"amount": "5000"})).undecidable_since is not None


@pytest.mark.parametrize("kind", [Kind.QUESTION, Kind.FORM])
def test_a_question_takes_the_terms_of_rules_that_ask(kind):
    rule = {"name": "Night", "when": "input.missing == 1", "then": "ask", "ask": {"priority": "high"}}
    apply_policy(SMALL, rule)
    request = ask(alice(), {"amount": "50000"}, kind=kind)
    assert (stored(request).rule, stored(request).priority) == ("Night", "high")


def test_the_replay_says_the_same():
    two_teams()
    apply_policy(SMALL, LARGE)
    asker = alice()
    ask(asker, {"amount": 20})
    ask(asker, {"amount": "50000"})
    done = replay(rules_of(1, live_version().digest), standing_of(administrator()), days=1)
    assert {name: (dict(count.then), count.unclear) for name, count in done.rules.items()} == {
        "Small": ({"allow": 1, "ask": 1}, 1),
        "Large": ({}, 0),
        None: ({}, 0),
    }


def test_the_evaluation_over_rest_says_the_same():
    two_teams()
    apply_policy(SMALL, LARGE)
    request = stored(ask(alice(), {"amount": "50000"}))
    machine = Machine(administrator(), scopes=("read",))
    said = machine.post("/policy/evaluate", {"tool_name": "refund", "input": {"amount": "50000"}}).body
    assert Evaluation(**said).model_dump(exclude={"why", "policy_version"}) == {
        "then": "ask",
        "rule": "Small",
        "other_rules": ["Large"],
        "control": request.control,
        "terms": request.terms,
    }
