"""People who may see a request but not decide it learn the reason: on its page, over REST, and in bulk."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals.access.standing import standing_of
from approvals.administration.tools.actions import store_tool_settings
from approvals.models import ApprovalRequest
from approvals.pages.bulk import plan
from approvals.pages.bulk_orders import BulkDecision
from approvals.queries.policy.why_not import why_not
from approvals.states import Kind, Verdict
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.scopes import again, make_scope
from tests.support.machine import Machine
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db

ABOVE = "You cannot decide this request: its amount is above your limit of 1,000."


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def decider() -> User:
    return bob()


def why(person: User, request: ApprovalRequest) -> str:
    return why_not(standing_of(again(person)), stored(request))


def test_whoever_may_decide_is_told_nothing(admin, decider):
    make_scope(decider, by=admin, limit=1_000)
    assert why(decider, make_request(alice())) == why(admin, make_request(carol())) == ""


def test_an_amount_above_the_largest_limit_is_named_with_the_limit(admin, decider):
    make_scope(decider, by=admin, limit=10)
    make_scope(decider, by=admin, limit=1_000)
    owner = alice()
    assert why(decider, make_request(owner, input={"amount": 1_001})) == ABOVE
    assert why(decider, make_request(owner, input={})) == (
        "You cannot decide this request: it has no amount, and you decide only up to 1,000."
    )


def test_a_scope_that_lets_people_see_only_is_named(admin, decider):
    make_scope(decider, by=admin, may="see", tools=["refund"])
    assert why(decider, make_request(alice(), tool_name="refund")) == (
        "Your approver scopes let you see this request, but not decide it: “Scope 1”."
    )


def test_a_question_has_no_limit(admin, decider):
    make_scope(decider, by=admin, limit=1_000)
    assert why(decider, make_request(alice(), Kind.QUESTION, input={"amount": 5_000})) == ""


def test_scopes_that_do_not_fit_say_why(admin, decider):
    country = [{"pointer": "/country", "one_of": ["DE", "AT"]}]
    make_scope(decider, by=admin, tools=["refund"], input=country)
    own = make_request(decider, tool_name="payroll", input={"country": "FR"})
    assert why(decider, own) == (
        "You can see this request, but you cannot decide it: none of your approver scopes matches it. "
        "“Scope 1” does not match: tool: “payroll” is not “refund”; "
        '/country must be one of "DE", "AT".'
    )


def test_whom_no_scope_names_is_told_so(admin, decider):
    make_scope(admin, by=admin)
    assert why(decider, make_request(decider)) == (
        "You can see this request, but you cannot decide it: no approver scope names you."
    )


def test_no_role_and_four_eyes_are_told_apart(admin, decider):
    store_tool_settings("refund", {"control": "four_eyes"}, by=admin)
    request = make_request(decider, tool_name="refund")
    assert why(decider, request).startswith("The two-person rule applies to this tool")
    assert why(carol(), request) == "You can see this request, but you cannot decide it."


def test_the_page_the_api_and_many_at_once_say_why(admin, decider):
    request = make_request(alice(), input={"amount": 5_000})
    make_scope(decider, by=admin, limit=1_000)
    client = Client()
    client.force_login(again(decider))
    page = client.get(f"/requests/{request.pk}/").content.decode()
    assert (ABOVE in page, 'value="approve"' in page) == (True, False)
    pressed = client.post(f"/requests/{request.pk}/decide/", {"verdict": "approve", "digest": request.input_digest})
    assert (pressed.status_code, ABOVE in pressed.content.decode()) == (403, True)
    answer = Machine(decider).decide({"id": str(request.pk)}, "approve")
    assert (answer.refusal, answer.body["detail"]) == ((403, "not_allowed"), ABOVE)
    [step] = plan(standing_of(again(decider)), BulkDecision({request.pk: request.input_digest}, Verdict.APPROVE, ""))
    assert (step.code, step.message) == ("not_allowed", ABOVE)


def test_an_edit_above_the_limit_names_it(admin, decider):
    make_scope(decider, by=admin, limit=1_000)
    request = make_request(alice())
    with pytest.raises(Exception, match="above your limit of 1,000, or missing"):
        decide(request, again(decider), Verdict.EDIT, edited_input={"amount": 1_001})


def test_a_page_of_many_requests_reads_the_scopes_of_a_person_once(admin, decider, django_assert_num_queries):
    make_scope(decider, by=admin, tools=["refund"])
    requests = [stored(make_request(decider, tool_name="payroll")) for _ in range(5)]
    standing = standing_of(decider)
    with django_assert_num_queries(0):
        assert len({why_not(standing, request) for request in requests}) == 1
