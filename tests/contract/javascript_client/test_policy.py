"""`@pausepoint/client` with a server that has a policy: rules, votes and absences."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import people, told
from tests.support.machine import Remote
from tests.support.processes import policies
from tests.support.processes.policies import ALLOW, DENY, TWO, ruled_tool

pytestmark = pytest.mark.server


@pytest.mark.shows("javascript-client", "allowed", "denied")
def test_a_rule_answers_at_once(desk, node):
    asker, _, _ = people(desk)
    for rule, status, comment, given in (
        (ALLOW, "approved", "", {"amount": 5}),
        (DENY, "rejected", "Ask finance.", None),
    ):
        asked = {"toolName": ruled_tool(desk, rule), "input": {"amount": 5}}
        (found,) = node(asker.key, ("awaitHuman", "Pay?", asked))
        assert (found["status"], found["by"], found["comment"], found["input"]) == (status, None, comment, given)


@pytest.mark.shows("javascript-client", "halted")
def test_a_function_whose_run_has_to_stop_throws_halted_and_does_not_run(desk, function):
    policies.apply_rules(desk, {"name": "Stop", "match": {"tools": ["refund"]}, **policies.HALT})
    process = function.start()
    policies.pass_deadline(desk, function.waiting(1)["refund"]["id"])
    found = told(process)
    policies.apply_rules(desk)
    assert (found["ran"], found["name"], found["isRefusal"]) == ([], "Halted", True)


@pytest.mark.shows("javascript-client", "progress", "vote", "delegate")
def test_a_decision_is_a_vote_that_says_how_far_it_is_and_a_delegate_votes_for_who_is_away(desk, node):
    asker, approver, _ = people(desk)
    other = Remote(desk, "admin", ("decide", "read"))
    request = asker.ask(tool_name=ruled_tool(desk, TWO))
    policies.send_away(desk, "approver", "admin")
    (voted,) = node(other.key, ("decide", request["id"], "approve"))
    votes = voted["document"]["votes"]
    assert (voted["status"], voted["approved"], votes["progress"]) == ("pending", False, "1 of 2, approver missing")
    alone = TWO | {"ask": {"stages": [{"groups": [{"people": ["approver"]}]}]}}
    (decided,) = node(other.key, ("decide", asker.ask(tool_name=ruled_tool(desk, alone))["id"], "approve"))
    policies.send_back(desk)
    assert (decided["approved"], decided["document"]["decision"]["decided_for"]) == (True, "approver")
    (last,) = node(approver.key, ("decide", request["id"], "approve"))
    assert last["approved"] is True
