"""The decision record: one page to print, for everyone who may see the request."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.models import Workflow
from approvals.pages.audit.labels import EVENT_LABELS
from approvals.pages.audit.record import MAX_INPUT
from approvals.record.events import EVENTS
from approvals.states import Door, Verdict
from tests.support.desk.away import away
from tests.support.desk.pressing import at, browser, seen
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.scopes import again
from tests.support.desk.votes import both, group, make_team, make_voted, vote
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def test_it_says_who_asked_who_decided_what_ran_and_has_every_digest():
    request = make_request(alice(), title="Refund <b>4711</b>?", tool_name="issueRefund", tool_call_id="call-1")
    decide(request, bob(), Verdict.EDIT, edited_input={"amount": 50}, comment="Half of it.")
    request = stored(request)
    said = actions.ReportedResult(input_digest=request.decision.approved_digest, output={"reference": "re_1"})
    actions.report_result(request.pk, said, scope=request.scope, by=request.requested_by, via=Door.REST)
    page = browser(carol()).get(f"{request.get_absolute_url()}record/")
    words = parse(page.text).find("main")[0].words
    for part in ("Refund <b>4711</b>?", "alice", "bob", "“Half of it.”", "Ran exactly what was approved.", "re_1",
                 request.input_digest, request.decision.approved_digest, request.public_url):  # fmt: skip
        assert part in words
    assert parse(page.text).find("svg")[0].find("path")[0].attributes["d"].startswith("M4 4h1v1h-1z")
    assert len(parse(page.text).find("tbody")) == 1


def test_it_says_that_nobody_has_decided_or_that_nothing_was_reported():
    request = make_request(alice())
    client = browser(request.requested_by)
    assert "No one has decided yet." in client.get(f"{request.get_absolute_url()}record/").text
    decide(request, bob(), Verdict.APPROVE)
    assert "No result was reported." in client.get(f"{request.get_absolute_url()}record/").text


def test_a_long_input_is_cut_and_counted():
    request = make_request(alice(), input={"text": "x" * 5_000})
    page = parse(browser(carol()).get(f"{request.get_absolute_url()}record/").text)
    assert len(page.find("pre")[0].words) <= MAX_INPUT + 2
    assert "more characters are not printed" in page.find("main")[0].words


def test_it_is_absent_for_people_who_may_not_see_the_request():
    request = make_request(alice())
    assert browser(mallory()).get(f"{request.get_absolute_url()}record/").status_code == 404


def test_every_event_of_the_audit_log_has_words():
    assert set(EVENT_LABELS) == set(EVENTS)


def test_it_has_the_message_of_the_agent_and_the_name_that_was_typed():
    request = make_request(alice(), tool_name="issueRefund", message="Please <b>hurry</b>.", priority="critical")
    address = f"{request.get_absolute_url()}record/"
    client = browser(bob())
    assert "Confirmed by typing" not in client.get(address).text
    client.post(at(request), seen(request) | {"verdict": "approve", "typed_name": "issueRefund"})
    words = parse(client.get(address).text).find("main")[0].words
    assert "Confirmed by typing issueRefund" in words
    assert "Message of the agent Please <b>hurry</b>." in words


def test_a_request_with_a_workflow_of_its_own_has_one_id():
    owner = alice()
    own, shared = make_request(owner), make_request(owner, title="Another")
    Workflow.objects.filter(pk=own.workflow_id).update(key=str(own.pk))
    Workflow.objects.filter(pk=shared.workflow_id).update(key="run-7")
    client = browser(carol())
    pages = [parse(client.get(f"{one.get_absolute_url()}record/").text) for one in (own, shared)]
    assert ["run-7" in [code.words for code in page.find("code")] for page in pages] == [False, True]
    assert [[name.words for name in page.find("dt")].count("Workflow") for page in pages] == [0, 1]


def test_it_lists_the_votes_for_whom_they_were_given_and_whether_they_count():
    absent, delegate = bob(), make_person("carol", "decide_approvalrequest", "view_approvalrequest")
    request = make_voted(alice(), both(group(make_team("finance", absent)), group(votes=2)))
    record, client = f"{request.get_absolute_url()}record/", browser(delegate)
    assert "No one has voted yet." in client.get(record).text
    away(absent, delegate)
    vote(request, make_person("dave", "decide_approvalrequest"))
    vote(request, make_person("erin", "decide_approvalrequest"), Verdict.EDIT, edited_input={"amount": 7})
    vote(request, User.objects.get(username="dave"))
    vote(request, again(delegate))
    rows = [
        [cell.words for cell in row.find("td")][:4]
        for row in parse(client.get(record).text).find("tbody")[0].find("tr")
    ]
    no_one = "\N{EN DASH}"
    assert rows == [
        ["erin", no_one, no_one, "Approved, with changes"],
        ["dave", no_one, no_one, "Approved"],
        ["carol", "bob", "finance", "Approved"],
    ]


def test_it_says_why_a_vote_does_not_count_and_shows_the_proposed_input():
    absent, delegate = bob(), make_person("carol", "decide_approvalrequest", "view_approvalrequest")
    request = make_voted(alice(), both(group(make_team("finance", absent)), group(votes=3)))
    away(absent, delegate)
    vote(request, make_person("dave", "decide_approvalrequest"), Verdict.EDIT, edited_input={"amount": 7})
    vote(request, make_person("erin", "decide_approvalrequest"))
    vote(request, again(delegate))
    User.objects.get(username="erin").user_permissions.clear()
    page = parse(browser(delegate).get(f"{request.get_absolute_url()}record/").text)
    assert "amount" in page.find("main")[0].words.partition("Proposed input")[2]
    cells = [[cell.words for cell in row.find("td")] for row in page.find("tbody")[0].find("tr")]
    assert [(row[0], row[5]) for row in cells] == [
        ("dave", "yes"),
        ("erin", "no: the right was lost"),
        ("carol", "yes"),
    ]
