"""Pages for people with approver scopes: the reason for an empty list, and no links to pages they may not open."""

from __future__ import annotations

import pytest

from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.scopes import make_scope
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

LIMITED = "You see requests that match your approver scopes, that you made, or that are assigned to you."


def inbox(user) -> str:
    return parse(browser(user).get("/").text).words


def heading_of(address: str, user) -> str:
    return parse(browser(user).get(address).text).find("h1")[0].words


def administrator():
    return make_person("root", "administer")


def test_an_empty_inbox_says_that_scopes_limit_it():
    approver, asker, root = bob(), alice(), administrator()
    assert LIMITED not in inbox(approver)
    make_scope(make_person("erin", "decide_approvalrequest"), by=root, tools=["pay"])
    assert (LIMITED in inbox(approver), LIMITED in inbox(asker)) == (True, False)
    make_scope(approver, by=root, tools=["pay"])
    make_request(asker, tool_name="pay")
    assert LIMITED not in inbox(approver)


def test_auditors_whom_scopes_limit_have_no_links_to_the_audit_page():
    auditor = make_person("audrey", "view_auditentry", "view_approvalrequest")
    request = make_request(alice(), tool_name="pay")
    addresses = ["/", "/insights/", f"/requests/{request.pk}/", request.workflow.get_absolute_url()]
    client = browser(auditor)
    assert ["/audit/" in client.get(address).text for address in addresses] == [True] * 4
    make_scope(auditor, by=administrator(), may="see", tools=["pay"])
    assert ['"/audit/' in client.get(address).text for address in addresses] == [False] * 4


def test_insights_say_whose_requests_they_count():
    approver = bob()
    assert heading_of("/insights/", approver) == "Insights all requests"
    make_scope(approver, by=administrator(), tools=["pay"])
    assert heading_of("/insights/", approver) == "Insights requests that you may see"
