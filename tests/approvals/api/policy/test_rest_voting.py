"""Votes over REST: a decision may leave the request pending, and the document names the missing voters."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest
from approvals.policy.terms import Terms
from tests.support.desk.away import away
from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import both, group, make_team, with_terms
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def deciders():
    return [Machine(bob()), Machine(make_person("dave", "decide_approvalrequest", "view_approvalrequest"))]


@pytest.fixture
def agent():
    return Machine(alice())


def ask(agent, terms):
    asked = agent.ask()
    with_terms(ApprovalRequest.objects.get(pk=asked["id"]), terms)
    return asked


@pytest.mark.shows("rest", "progress", "vote")
def test_a_vote_is_answered_with_the_request_still_pending(agent, deciders):
    finance, security = (
        make_team(name, machine.key.user) for name, machine in zip(["finance", "security"], deciders, strict=True)
    )
    asked = ask(agent, both(group(finance), group(security)))
    voted = deciders[0].decide(asked, "approve", comment="Paid.")
    assert (voted.status, voted.body["status"], voted.body["decision"]) == (200, "pending", None)
    votes = voted.body["votes"]
    assert votes == {
        "progress": "1 of 2, security missing",
        "veto": False,
        "stages": [
            {
                "groups": [
                    {"who": "finance", "votes": 1, "needed": 1},
                    {"who": "security", "votes": 0, "needed": 1},
                ],
                "any": False,
                "met": False,
                "current": True,
            }
        ],
        "cast": [
            {
                "by": "API key a machine of bob",
                "on_behalf_of": None,
                "verdict": "approve",
                "comment": "Paid.",
                "input_digest": asked["input_digest"],
                "stage": 1,
                "counts": True,
                "via": "rest",
                "voted_at": votes["cast"][0]["voted_at"],
            }
        ],
        "proposal": None,
    }
    assert agent.get(f"/requests/{asked['id']}").body["votes"] == votes
    again = deciders[0].decide(asked, "approve", comment="Paid.")
    assert (again.body, again.replayed) == (voted.body, True)
    assert deciders[1].decide(asked, "approve").body["status"] == "approved"


@pytest.mark.shows("rest", "delegate")
def test_a_vote_says_for_whom_it_was_given(agent, deciders):
    absent, delegate = (machine.key.user for machine in deciders)
    asked = ask(agent, both(group(make_team("finance", absent), votes=2)))
    away(absent, delegate)
    (vote,) = deciders[1].decide(asked, "approve").body["votes"]["cast"]
    assert (vote["by"], vote["on_behalf_of"], vote["counts"]) == ("API key a machine of dave", "bob", True)
    votes = deciders[0].decide(asked, "approve").body["votes"]["cast"]
    assert [(vote["on_behalf_of"], vote["counts"]) for vote in votes] == [("bob", False), (None, True)]


def test_a_proposal_is_voted_on_by_its_digest(agent, deciders):
    asked = ask(agent, both(group(votes=2)))
    proposed = deciders[0].decide(asked, "edit", edited_input={"amount": 5}).body["votes"]["proposal"]
    assert (proposed["input"], proposed["by"]) == ({"amount": 5}, "API key a machine of bob")
    assert deciders[1].decide(asked, "approve").body["code"] == "changed"
    done = deciders[1].decide(asked, "approve", input_digest=proposed["input_digest"]).body
    assert (done["status"], done["decision"]["verdict"]) == ("approved", "edit")
    assert done["decision"]["approved_input"] == {"amount": 5}


def test_one_person_decides_what_has_no_votes(agent, deciders):
    assert deciders[0].decide(agent.ask(), "approve").body["votes"] is None


@pytest.mark.parametrize(
    ("terms", "code"),
    [(Terms(typed_name=True), "decide_on_page"), (Terms(fresh_sign_in=True), "sign_in_again")],
)
def test_what_only_a_page_can_ask_for_is_refused_with_its_address(agent, deciders, terms, code):
    asked = ask(agent, terms)
    refused = deciders[0].decide(asked, "approve")
    assert (refused.status, refused.body["code"], refused.body["url"]) == (403, code, asked["url"])


def test_someone_who_is_not_needed_is_told_who_is(agent, deciders):
    asked = ask(agent, both(group(make_team("finance", deciders[0].key.user))))
    refused = deciders[1].decide(asked, "approve")
    assert (refused.status, refused.body["code"]) == (403, "not_allowed")
    assert refused.body["detail"] == "Your vote is not needed now. This request is waiting for finance."


def test_a_list_says_how_far_the_votes_are_and_names_the_rule_with_its_version(agent, deciders):
    rule = {"name": "Two", "match": {"tools": ["refund"]}, "ask": {"stages": [{"groups": [{"votes": 2}]}]}}
    version = apply_policy(rule | {"then": "ask"}).number
    agent.ask(kind="question", title="Which size?", tool_name="", input={})
    asked = agent.ask()
    deciders[0].decide(asked, "approve")
    listed = [(one["progress"], one["rule"]) for one in agent.get("/requests").body["items"]]
    named = {"name": "Two", "policy_version": version}
    assert listed == [("1 of 2", named), (None, None)]
    shown = agent.get(f"/requests/{asked['id']}").body
    assert (shown["progress"], shown["rule"], shown["votes"]["progress"]) == ("1 of 2", named, "1 of 2")
    workflow = agent.get(f"/workflows/{asked['workflow_id']}").body
    assert [one["progress"] for one in workflow["suspensions"]] == ["1 of 2"]
    deciders[1].decide(asked, "approve")
    ended = agent.get(f"/requests/{asked['id']}").body
    assert (ended["progress"], ended["rule"], ended["decision"]["rule"]) == (None, named, None)


def test_a_list_without_votes_reads_none(agent, django_assert_num_queries):
    for _number in range(3):
        agent.ask()
    with django_assert_num_queries(2):
        agent.get("/requests")
