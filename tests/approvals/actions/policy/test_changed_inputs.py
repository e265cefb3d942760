"""An approval with changes needs the rights that policy and scopes require for the changed input."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid, NotAllowed
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from tests.approvals.actions.policy.granting import ask
from tests.support.desk.away import away
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.ruling import apply_policy
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.votes import both, group, make_voted, progress_of, vote
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

LARGE = {
    "name": "Large",
    "match": {"tools": ["refund"], "input": [{"pointer": "/amount", "at_least": 1000}]},
    "then": "ask",
    "ask": {"stages": [{"groups": [{"votes": 2}]}]},
}
SMALL = {"name": "Small", "match": {"tools": ["refund"]}, "then": "ask"}
FREE = {
    "name": "Free",
    "match": {"tools": ["refund"], "input": [{"pointer": "/amount", "at_most": 10}]},
    "then": "allow",
}
NEVER = {
    "name": "Never",
    "match": {"tools": ["refund"], "input": [{"pointer": "/iban", "equals": "XX"}]},
    "then": "deny",
}


def edit(request: ApprovalRequest, by: User, value: dict) -> str:
    """Approve with this input in place of the requested one; return the state of the request."""
    answer = Answer(Verdict.EDIT, edited_input=value)
    shown = stored(request).voted_digest
    actions.decide(request.pk, answer, by=again(by), via=Door.DASHBOARD, shown_digest=shown)
    return stored(request).status


def test_no_one_approves_alone_with_changes_what_a_rule_leaves_to_two():
    apply_policy(FREE, LARGE, SMALL)
    request, decider = ask(alice(), {"amount": 20}), bob()
    with pytest.raises(Invalid) as refusal:
        edit(request, decider, {"amount": 5_000})
    assert (str(refusal.value), list(refusal.value.errors), stored(request).status) == (
        "With these changes, the policy rule “Large” applies, which needs other approvers. "
        "Reject the request, so that the agent can ask again.",
        ["edited_input"],
        "pending",
    )
    assert edit(request, decider, {"amount": 30}) == "approved"


def test_changes_can_lead_to_what_the_policy_allows_but_not_to_what_it_denies():
    apply_policy(FREE, NEVER, SMALL)
    asker, decider = alice(), bob()
    request = ask(asker, {"amount": 20})
    with pytest.raises(Invalid, match="the policy rule “Never” denies this"):
        edit(request, decider, {"amount": 20, "iban": "XX"})
    assert edit(request, decider, {"amount": 5}) == "approved"


def test_changes_do_not_lead_out_of_the_rule_nor_into_one():
    apply_policy(LARGE)
    asker, decider = alice(), bob()
    inside, outside = ask(asker, {"amount": 2_000}), ask(asker, {"amount": 20})
    with pytest.raises(Invalid, match="the policy rule “Large”, which applied to the original request, does not apply"):
        edit(inside, decider, {"amount": 20})
    with pytest.raises(Invalid, match="the policy rule “Large” applies"):
        edit(outside, decider, {"amount": 2_000})
    assert (edit(outside, decider, {"amount": 21}), edit(inside, decider, {"amount": 2_001})) == ("approved", "pending")


def test_the_version_counts_under_which_it_was_asked():
    apply_policy(SMALL)
    request, decider = ask(alice(), {"amount": 20}), bob()
    apply_policy(LARGE)
    assert edit(request, decider, {"amount": 2_000}) == "approved"


def test_a_priority_that_advice_has_raised_leaves_the_rule_as_it_was():
    apply_policy(SMALL | {"match": {"tools": ["refund"], "priorities": ["normal"]}})
    request, decider = ask(alice(), {"amount": 20}), bob()
    ApprovalRequest.objects.filter(pk=request.pk).update(priority="high", asked_priority="normal")
    assert edit(request, decider, {"amount": 21}) == "approved"


@pytest.fixture
def local() -> User:
    """A decider of requests for Germany only."""
    decider = bob()
    make_scope(decider, by=User.objects.create_superuser("root"), input=[{"pointer": "/country", "equals": "DE"}])
    return decider


def test_changes_do_not_lead_out_of_the_scope_of_who_makes_them(local):
    request = make_request(alice(), input={"country": "DE"})
    with pytest.raises(NotAllowed) as refusal:
        edit(request, local, {"country": "US"})
    assert str(refusal.value) == (
        "You cannot approve these changes: none of your approver scopes matches the changed input."
    )
    assert (stored(request).status, edit(request, local, {"country": "DE", "note": "x"})) == ("pending", "approved")


def test_who_cannot_see_a_proposed_input_in_their_scope_does_not_approve_it(local):
    free = make_person("frank", "decide_approvalrequest", "ignore_scopes")
    request = make_voted(alice(), both(group(votes=2)), input={"country": "DE"})
    vote(request, local)
    assert edit(request, free, {"country": "US"}) == "pending"
    with pytest.raises(NotAllowed):
        vote(request, again(local))
    assert progress_of(request) == "1 of 2"
    assert edit(request, free, {"country": "DE"}) == "approved"


def test_two_amounts_are_still_compared(local):
    root = User.objects.get(username="root")
    request = make_request(alice(), input={"amount": 5, "country": "FR"})
    make_scope(local, by=root, limit=100, input=[{"pointer": "/country", "equals": "FR"}])
    with pytest.raises(NotAllowed, match="it is above your limit of 100"):
        edit(request, local, {"amount": 500, "country": "FR"})
    decide(request, again(local), Verdict.EDIT, edited_input={"amount": 50, "country": "FR"})
    assert stored(request).status == "approved"


def test_with_broken_glass_too_the_changed_input_has_to_fit_and_who_is_away_is_named():
    absent, decider = bob(), make_person("erin", "decide_approvalrequest", "break_glass")
    root = User.objects.create_superuser("root")
    make_scope(decider, by=root, limit=100)
    make_scope(absent, by=root, limit=1000)
    away(absent, decider)
    request = make_voted(alice(), both(group(votes=2)), input={"amount": 50})
    edit(request, root, {"amount": 500})
    digest = stored(request).voted_digest
    decide(request, again(decider), Verdict.APPROVE, shown_digest=digest, comment="Fire.", break_glass=True)
    decision = stored(request).decision
    assert (decision.by_name, decision.for_name, decision.edited_input) == ("erin", "bob", {"amount": 500})
