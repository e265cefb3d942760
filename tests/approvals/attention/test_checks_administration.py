"""The page of seeded checks: the switch, the cases, the sums, and who may open it."""

from __future__ import annotations

import pytest

from approvals.actions import attention
from approvals.models import CheckCase, CheckSettings, SeededCheck
from approvals.states import Verdict
from tests.approvals.attention.checks import planted, switch_on
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

PAGE = "/settings/checks/"
SENT = {
    "form": "case",
    "title": "Refund?",
    "tool_name": "refund",
    "agent": "",
    "message": "",
    "input": '{"amount": 5}',
    "expected": "reject",
    "explanation": "Why not.",
}


def administrator():
    return make_person("root", "administer")


def test_checks_are_off_until_an_administrator_switches_them_on_and_off_again():
    client = browser(administrator())
    assert "Off" in client.get(PAGE).text
    assert client.post(PAGE, {"form": "rate", "every": "50"}).status_code == 302
    assert (CheckSettings.objects.get().every, CheckSettings.objects.get().by_name) == (50, "root")
    assert client.post(PAGE, {"form": "rate", "every": ""}).status_code == 302
    assert CheckSettings.objects.count() == 0


@pytest.mark.parametrize("every", ["4", "1001", "0", "-5", "often"])
def test_a_rate_out_of_bounds_is_refused(every):
    answer = browser(administrator()).post(PAGE, {"form": "rate", "every": every})
    assert (answer.status_code, CheckSettings.objects.count()) == (422, 0)


def test_cases_are_added_and_removed():
    client = browser(administrator())
    assert client.post(PAGE, SENT).status_code == 302
    case = CheckCase.objects.get()
    assert (case.title, case.input, case.expected) == ("Refund?", {"amount": 5}, "reject")
    assert client.post(f"{PAGE}{case.pk}/remove/").status_code == 302
    assert client.post(f"{PAGE}{case.pk}/remove/").status_code == 404
    assert "Refund?" not in [title.words for title in parse(client.get(PAGE).text).find("span", class_="row-title")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"input": "{"},
        {"input": "[1]"},
        {"input": "{}"},
        {"input": ""},
        {"title": ""},
        {"tool_name": ""},
        {"tool_name": "refund\u202e"},
        {"explanation": ""},
        {"expected": "edit"},
    ],
)
def test_a_case_that_could_not_be_shown_is_refused(wrong):
    answer = browser(administrator()).post(PAGE, SENT | wrong)
    assert (answer.status_code, CheckCase.objects.count()) == (422, 0)


def test_a_check_whose_case_is_removed_or_that_is_switched_off_is_gone():
    owner, decider = alice(), bob()
    root = switch_on()
    check = planted(owner, decider)
    attention.switch_checks(None, by=root, via="dashboard")
    assert browser(decider).get(f"/requests/{check.pk}/").status_code == 404
    assert f"row-{check.pk}" not in browser(decider).get("/").text
    attention.remove_case(check.case_id, by=root, via="dashboard")
    assert SeededCheck.objects.count() == 0


def test_people_see_their_own_results_and_administrators_the_sum():
    owner, decider = alice(), bob()
    root = switch_on()
    attention.answer_check(planted(owner, decider).pk, by=decider, verdict=Verdict.REJECT)
    own = parse(browser(decider).get("/settings/attention/").text)
    pairs = {pair.find("dt")[0].words: pair.find("dd")[0].words for pair in own.find("dl")[0].find("div")}
    assert pairs["Seeded checks decided as is right"] == "1 of 1"
    (main,) = parse(browser(root).get(PAGE).text).find("div", class_="settings-main")
    assert "1 of 1 checks were decided as is right." in main.words
    assert "bob" not in main.words


def test_others_find_no_such_page():
    assert browser(bob()).get(PAGE).status_code == 404
