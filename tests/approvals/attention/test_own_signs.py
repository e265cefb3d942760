"""The signs as pages show them: to the person first, to administrators in sum, and never as a block."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision, Preferences
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

PAGE, LINE = "/settings/attention/", "/attention/"
LEFT = {"parts": 2, "values": 3, "characters": 0}


def figures(html: str) -> dict[str, str]:
    page = parse(html)
    return {
        pair.find("dt")[0].words: pair.find("dd")[0].words
        for pairs in page.find("dl", class_="pairs-list")
        for pair in pairs.find("div")
    }


def line(person) -> str:
    return parse(browser(person).get(LINE).text).find("p")[0].words


def test_a_decision_keeps_how_many_parts_were_unopened_where_a_page_showed_them():
    owner, decider = alice(), bob()
    decide(make_request(owner), decider, Verdict.APPROVE, unseen=LEFT)
    decide(make_request(owner), decider, Verdict.APPROVE)
    decide(make_request(owner), decider, Verdict.REJECT)
    decide(make_request(owner, Kind.QUESTION), decider, Verdict.RESPOND, answer="yes")
    Machine(decider).decide(Machine(owner).ask(), "approve")
    assert list(Decision.objects.order_by("pk").values_list("unseen", flat=True)) == [2, 0, None, None, None]


def test_the_page_shows_a_person_their_own_figures():
    owner, decider, other = alice(), bob(), make_person("dora", "decide_approvalrequest")
    for _ in range(3):
        decide(make_request(owner), decider, Verdict.APPROVE, unseen=LEFT)
    decide(make_request(owner), other, Verdict.APPROVE)
    assert figures(browser(decider).get(PAGE).text) == {
        "Decided on pages": "3",
        "Faster than reading": "1 of 1 (100%)",
        "Approved with parts unopened": "3 of 3 (100%)",
        "Longest series of these": "3",
    }
    assert "You have not decided anything on these pages yet." in browser(owner).get(PAGE).text


def test_the_line_says_nothing_until_there_is_something_to_say():
    decider = bob()
    assert line(decider) == ""


def test_the_line_says_that_the_last_decision_was_faster_than_reading():
    owner, decider = alice(), bob()
    decide(make_request(owner, title="a " * 90), decider, Verdict.APPROVE)
    words = line(decider)
    assert words.startswith("Your last decision took ")
    assert words.endswith("reading the request takes about 24 s. How you decide")


def test_the_line_names_a_series_without_a_look():
    owner, decider = alice(), bob()
    for _ in range(5):
        decide(make_request(owner), decider, Verdict.APPROVE, unseen=LEFT)
    assert line(decider) == "You approved 5 requests in a row without opening their folded parts. How you decide"


def test_a_daily_budget_is_shown_and_blocks_nothing():
    owner, decider = alice(), bob()
    client = browser(decider)
    assert client.post(PAGE, {"daily_budget": "1"}).status_code == 302
    for _ in range(2):
        decide(make_request(owner), decider, Verdict.REJECT)
    assert line(decider).startswith("2 of your 1 today")
    assert client.post(PAGE, {"daily_budget": ""}).status_code == 302
    assert Preferences.objects.get().daily_budget is None


@pytest.mark.parametrize("wrong", ["0", "-1", "10001", "many", "1.5"])
def test_a_budget_out_of_bounds_is_refused(wrong):
    client = browser(bob())
    answer = client.post(PAGE, {"daily_budget": wrong})
    assert (answer.status_code, Preferences.objects.count()) == (422, 0)


def test_the_inbox_loads_the_line_after_itself_for_people_who_decide():
    (place,) = parse(browser(bob()).get("/").text).find(hx_get=LINE)
    assert place.attributes["hx-trigger"] == "load"
    assert parse(browser(alice()).get("/").text).find(hx_get=LINE) == []


def test_administrators_see_the_signs_of_everyone_in_sum_without_names():
    owner, decider = alice(), bob()
    administrator = make_person("root", "administer", "view_approvalrequest")
    for _ in range(5):
        decide(make_request(owner), decider, Verdict.APPROVE, unseen=LEFT)
    (section,) = [
        section
        for section in parse(browser(administrator).get("/insights/").text).find("section")
        if section.attributes.get("aria-labelledby") == "attention-title"
    ]
    assert [dd.words for dd in section.find("dd")] == ["5 by 1 person", "1 of 1 (100%)", "5 of 5 (100%)", "0", "1"]
    assert "bob" not in section.words
    assert "attention-title" not in browser(decider).get("/insights/").text


def test_the_page_takes_as_many_statements_for_many_decisions_as_for_one():
    owner, decider = alice(), bob()
    client, costs = browser(decider), []
    for _ in range(2):
        for _ in range(4):
            decide(make_request(owner), decider, Verdict.APPROVE)
        with CaptureQueriesContext(connection) as statements:
            client.get(PAGE)
        costs.append(len(statements))
    assert costs[0] == costs[1]
