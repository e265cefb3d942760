"""Figures of the insights page link to the requests they count, and a tool has a sentence with advice."""

from __future__ import annotations

import pytest

from approvals.pages.insights.advice import advice_for
from approvals.queries.insights.values import Measure
from approvals.states import Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db


def links(person) -> list[str]:
    found = parse(browser(person).get("/insights/").text).find("main")[0].find("a")
    return [
        one.attributes["href"]
        for one in found
        if "?" in one.attributes["href"] and "days" not in one.attributes["href"]
    ]


def test_every_link_leads_to_a_list_that_has_what_it_counts():
    owner = alice()
    decide(make_request(owner, tool_name="refund & more"), bob(), Verdict.APPROVE)
    make_request(owner, tool_name="waits")
    auditor = make_person("dave", "view_auditentry", "view_approvalrequest")
    client = browser(auditor)
    found = set(links(auditor))
    assert {one.split("?")[0] for one in found} == {"/requests/"}
    for address in found:
        response = client.get(address)
        assert response.status_code == 200
        assert "May I?" in response.text, address


def test_people_who_may_not_read_the_audit_log_get_no_links_to_it():
    decide(make_request(alice(), tool_name="refund"), bob(), Verdict.APPROVE)
    assert {one.split("?")[0] for one in links(carol())} == {"/requests/"}


def test_empty_tables_say_what_will_be_there():
    page = browser(carol()).get("/insights/").text
    assert "The tools that agents ask about will be listed here" in page


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"ended": 4, "approved": 4}, ""),
        ({"ended": 10, "approved": 10}, "Always approved unchanged: consider a rule instead of asking."),
        ({"ended": 10, "approved": 9, "rejected": 1}, ""),
        ({"ended": 10, "approved": 5, "rejected": 5}, "Mostly rejected: tell the agent when not to use it."),
        ({"ended": 10, "approved": 7, "edited": 3}, "Often changed: give the agent better instructions."),
        ({"ended": 10, "approved": 8, "expired": 2}, "Often expires: extend its deadline, or notify more people."),
        (
            {"ended": 10, "approved": 10, "readable": 10, "hasty": 5},
            "Often decided faster than it can be read: choose key fields for it.",
        ),
        (
            {"ended": 9, "approved": 9, "median": 3601.0},
            "Waits for more than an hour: notify more people, or assign it to a team.",
        ),
    ],
)
def test_the_advice_for_a_tool_follows_from_its_figures(figures, words):
    assert advice_for(Measure(name="tool", **figures)) == words
