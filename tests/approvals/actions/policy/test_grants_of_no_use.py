"""A grant that would not be used is not given: whether one may be given and whether one is used are one answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.actions.policy import ask_about_everything
from approvals.administration.tools.actions import store_tool_settings
from approvals.exceptions import AlreadyDecided, GrantMissed, Invalid
from approvals.models import ApprovalRequest, Grant
from approvals.pages.grants.panel import granting_of
from approvals.queries.policy.grants.covered import waiting_with_grant_of
from approvals.queries.policy.grants.unusable import why_unusable
from approvals.states import Control, Door, Width
from tests.approvals.actions.policy.granting import REFUND, approve, ask, give, in_an_hour, terms
from tests.support.desk.files import attachment, folder
from tests.support.desk.requests import stored
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

__all__ = ["folder"]

pytestmark = pytest.mark.django_db

PEOPLE = "is not possible: people must decide each of these requests"
ALLOW, DENY, ASK = ({"then": then} for then in ("allow", "deny", "ask"))


def rule(name: str = "Refunds", **members: Any) -> dict[str, Any]:
    return {"name": name, "match": {"tools": ["refund"]}, **members}


def refusal_of(request: ApprovalRequest, by: User) -> str:
    """Return the error on approving a request with a grant, over every input that may be granted."""
    for width in (Width.INPUT, Width.TOOL):
        with pytest.raises(Invalid) as refused:
            approve(request, by, terms(width), comment="Fine.", signed_in_at=timezone.now())
        assert refused.value.errors.keys() == {"grant"}
    assert (stored(request).status, Grant.objects.filter(request=request.pk).count()) == ("pending", 0)
    return refused.value.errors["grant"]


def why(grant: Grant) -> str:
    return why_unusable([grant]).get(grant.pk, "")


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ([rule(ask={"reason": "always"}, **ASK)], PEOPLE),
        ([rule(ask={"veto": True}, **ASK)], PEOPLE),
        ([rule(ask={"stages": [{"groups": [{"votes": 1}]}]}, **ASK)], PEOPLE),
        ([rule(ask={"typed_name": True}, **ASK)], PEOPLE),
        (
            [rule(when="input.missing < 5", **ALLOW)],
            "is not possible: it is not certain which policy rule matches, so people decide each such call",
        ),
        (
            [rule(ask={"priority": "critical"}, **ASK)],
            "is not possible for a critical request, which needs a person each time",
        ),
    ],
)
def test_a_grant_that_the_rule_of_its_request_leaves_unused_is_refused(rules, problem):
    apply_policy(*rules)
    request, decider = ask(alice()), bob()
    assert refusal_of(request, decider) == problem
    # The page gives the reason of the refusal.
    assert granting_of(standing_of(decider), request).why_not == f"A grant {problem}."


def test_a_grant_with_files_is_refused_where_files_are_why_people_are_asked(folder):
    apply_policy(rule(**ALLOW))
    asked = {"kind": "approval", "title": "Refund?", "tool_name": "refund", "input": REFUND, "agent": "billing"}
    made = Machine(alice()).post("/requests", asked | {"attachments": [attachment()]}).body
    request = ApprovalRequest.objects.get(pk=made["id"])
    assert refusal_of(request, bob()) == (
        "is not possible: the policy rule “Refunds” asks people about each call with files"
    )


@pytest.mark.parametrize(
    ("then", "problem", "unused", "status"),
    [
        (
            DENY,
            "is not possible: the policy rule “Refunds” denies such calls",
            "Not used now: the policy rule “Refunds” denies such calls.",
            "rejected",
        ),
        (
            ALLOW,
            "is not needed: the policy rule “Refunds” allows such calls",
            "Not used now: the policy rule “Refunds” allows such calls without a grant.",
            "approved",
        ),
        (
            {"ask": {"reason": "always"}, **ASK},
            PEOPLE,
            "Not used now: the policy rule “Refunds” sets how people decide such calls.",
            "pending",
        ),
        (
            {"when": "input.missing < 5", **ALLOW},
            "is not possible: it is not certain which policy rule matches, so people decide each such call",
            "Not used now: it is not certain which policy rule matches such calls, so people decide each one.",
            "pending",
        ),
        (
            {"ask": {"priority": "critical"}, **ASK},
            "is not possible for a critical request, which needs a person each time",
            "Not used now: requests of this tool are critical, so each one needs a person.",
            "pending",
        ),
    ],
)
def test_a_policy_that_came_later_refuses_grants_and_is_named_in_the_ledger(then, problem, unused, status):
    asker, decider = alice(), bob()
    given, waiting = give(decider, asker, terms()), ask(asker, {"amount": 5})
    assert why(given) == ""
    apply_policy(rule(**then))
    assert refusal_of(waiting, decider) == problem
    again = ask(asker)
    used = Grant.objects.get(pk=given.pk).used
    assert (why(given), again.status, used) == (unused, status, 0)
    apply_policy()
    assert (why(given), ask(asker).status) == ("", "approved")


#: The terms of a rule about how people decide: the list in docs/reference/policy.md.
HOW_PEOPLE_DECIDE = [
    {"stages": [{"groups": [{"votes": 1}]}]},
    {"veto": True},
    {"typed_name": True},
    {"fresh_sign_in": True},
    {"reason": "always"},
]


@pytest.mark.parametrize("how", HOW_PEOPLE_DECIDE)
def test_what_a_rule_says_about_how_people_decide_is_not_bypassed_by_a_grant(how):
    asker, decider = alice(), bob()
    given = give(decider, asker, terms(Width.TOOL))
    apply_policy(rule(ask=how, **ASK))
    request = ask(asker)
    assert (request.status, Grant.objects.get(pk=given.pk).used) == ("pending", 0)
    assert refusal_of(request, decider) == PEOPLE
    # A request goes on under the rule that it was asked under.
    apply_policy()
    assert (ask(asker).status, stored(request).status) == ("approved", "pending")
    assert refusal_of(request, decider) == PEOPLE


def test_four_eyes_of_a_policy_that_came_later_refuse_a_grant_for_calls_of_ones_own():
    decider = bob()
    given, waiting = give(decider, decider, terms()), ask(decider, {"amount": 5})
    apply_policy(rule(**ASK))
    assert (
        refusal_of(waiting, decider)
        == "is not possible: the two-person rule applies to such calls, and you are the requester"
    )
    assert (why(given), ask(decider).status) == (
        "Not used now: the two-person rule applies to such calls, and bob is the requester.",
        "pending",
    )


def test_four_eyes_of_a_tool_that_came_later_refuse_a_grant_for_calls_of_ones_own():
    decider = bob()
    waiting = ask(decider)
    store_tool_settings("refund", {"control": Control.FOUR_EYES}, by=administrator())
    assert (
        refusal_of(waiting, decider)
        == "is not possible: the two-person rule applies to such calls, and you are the requester"
    )


def test_a_condition_about_who_asks_is_read_for_the_ledger():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    apply_policy(rule(when="requester.name == 'alice'", **DENY))
    assert why(given) == "Not used now: the policy rule “Refunds” denies such calls."
    apply_policy(rule(when="requester.name == 'bob'", **DENY))
    assert why(given) == ""


def test_while_everything_is_asked_a_grant_may_be_given_that_is_used_afterwards():
    asker, decider = alice(), bob()
    ask_about_everything(on=True, by=decider, via=Door.DASHBOARD)
    give(decider, asker, terms())
    assert ask(asker).status == "pending"
    ask_about_everything(on=False, by=decider, via=Door.DASHBOARD)
    assert ask(asker).status == "approved"


def test_what_a_grant_would_not_have_approved_is_not_offered_with_it():
    asker, decider = alice(), bob()
    apply_policy(rule(ask={"reason": "always"}, when="input.amount > 100", **ASK))
    ask(asker, {"amount": 500})
    small = ask(asker, {"amount": 5})
    plain = ask(asker, {"amount": 6})
    offered = granting_of(standing_of(decider), small).why_not
    approve(small, decider, terms(Width.TOOL))
    waiting = waiting_with_grant_of(standing_of(decider), stored(small))
    assert (offered, [each.pk for each in waiting.requests]) == ("", [plain.pk])


def test_an_approval_that_is_repeated_with_a_grant_is_refused_in_words():
    asker, decider = alice(), bob()
    request = ask(asker)
    approve(request, decider)
    assert approve(request, decider).replayed
    with pytest.raises(GrantMissed) as refused:
        approve(request, decider, terms())
    assert str(refused.value) == (
        "You have already approved this request without this grant. A grant can only be given with the first approval. "
        "Give it with the next request of this kind."
    )
    assert Grant.objects.count() == 0


@pytest.mark.parametrize("ending", [{"uses": 10}, {"uses": 10, "until": in_an_hour}])
def test_an_approval_that_is_repeated_with_its_grant_is_replayed(ending):
    asker, decider = alice(), bob()
    request = ask(asker)
    first = {name: end() if callable(end) else end for name, end in ending.items()}
    approve(request, decider, terms(**first))
    second = {name: end() if callable(end) else end for name, end in ending.items()}
    assert [approve(request, decider, terms(**second)).replayed, approve(request, decider).replayed] == [True, True]
    for other in (terms(Width.TOOL), terms(uses=9), terms(until=in_an_hour()), terms(uses=10, reason="Why")):
        with pytest.raises(GrantMissed):
            approve(request, decider, other)
    assert Grant.objects.count() == 1


def test_someone_else_who_repeats_a_grant_learns_who_was_first():
    asker, decider = alice(), bob()
    request = ask(asker)
    approve(request, decider, terms())
    with pytest.raises(AlreadyDecided) as refused:
        approve(request, make_person("dave", "decide_approvalrequest", "view_approvalrequest"), terms())
    assert type(refused.value) is AlreadyDecided


def test_a_client_that_repeats_an_approval_with_a_grant_gets_409():
    asker, decider = alice(), bob()
    request = ask(asker)
    program, asked = Machine(decider), {"id": str(request.pk)}
    wanted = {"covers": "input", "audience": "agent", "uses": 2}
    assert program.decide(asked, "approve").status == 200
    repeated = program.decide(asked, "approve", grant=wanted)
    assert (repeated.refusal, Grant.objects.count()) == ((409, "already_decided"), 0)
