"""The empty inbox, one workflow and one request, and invalid cursors."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.actions.lists.snoozing import snooze
from approvals.models import ApprovalRequest
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.requests import PAST, decide, make_request, make_workflow
from tests.support.markup import buttons, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

HOSTILE_PLACES = [
    "x", ",", ",,", "0,,0", "-1,2026-01-01T00:00:00Z,1", "0,2026-01-01T00:00:00,1", "0,2026-13-45T99:99:99Z,1",
    "0,2026-01-01T00:00:00Z,", "0,2026-01-01T00:00:00Z,1e5", "9" * 30 + ",2026-01-01T00:00:00Z,1",
    "0,2026-01-01T00:00:00Z," + "9" * 18, "\N{ARABIC-INDIC DIGIT TWO},2026-01-01T00:00:00Z,1", "0,\x00,1",
    "0,0001-01-01T00:00:00+23:59,1", "0,9999-12-31T23:59:59-23:59,1", "' OR 1=1 --", "9" * 9000,
]  # fmt: skip


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def titles(html: str) -> list[str]:
    """Return the requests on a page, in order."""
    return [card.find("h4")[0].words for card in parse(html).find("section", class_="request")]


def test_empty_inbox_explains_itself():
    page = parse(browser(alice()).get("/").text)
    (empty,) = page.find("div", id="inbox-empty")
    assert empty.words == (
        "Nothing is waiting. New requests appear here automatically. To try it, start a chat and write “approve refund”."
    )
    assert [one.words for one in page.find("span", id="tab-inbox")] == ["0"]


def test_counts_beside_each_other_say_what_they_count():
    asked = make_request(alice())

    def counts(person) -> list[str]:
        page = parse(browser(person).get("/").text)
        tab = page.find("nav", class_="tabs")[0].find("a")[0]
        return [tab.words, page.find("span", id="inbox-count")[0].words]

    assert counts(carol()) == ["Inbox 0 for you", "1 waiting"]
    decider = bob()
    assert counts(decider) == ["Inbox 1", "1 waiting"]
    dana = make_person("dana", "decide_approvalrequest")
    snooze(asked.pk, by=dana, until=None)
    assert [counts(person) for person in (dana, decider)] == [
        ["Inbox 1", "0 waiting · 1 snoozed"],
        ["Inbox 1", "1 waiting"],
    ]


def test_card_shows_what_an_approver_needs():
    request = make_request(
        alice(),
        title="Run issueRefund?",
        tool_name="issueRefund",
        message="Pay **money** back.",
        input={"amount": 250, "orderId": "4711", "lines": ["a", "b"]},
        context={"customer": "Jane Doe"},
        priority=Priority.CRITICAL,
        deadline_at=timezone.now() + timedelta(hours=3),
    )
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    (card,) = page.find("section", id=f"request-{request.pk}")
    rows = {row.find("th")[0].words: row.find("td")[0].words for row in card.find("tr")}
    assert rows == {
        "amount": "250",
        "orderId": "4711",
        "lines": "2 values 1 a 2 b",
        "1": "a",
        "2": "b",
        "customer": "Jane Doe",
    }
    assert [badge.words for badge in card.find("span", class_="badge")] == ["Approval", "Critical"]
    (deadline,) = card.find("p", class_="deadline")
    assert re.fullmatch(r"Expires in (2|3) hours, at (.+, )?\d\d:\d\d, then it is rejected", deadline.words)
    assert [one.words for one in card.find("strong")] == ["money"]


def test_buttons_are_shown_only_to_people_who_may_press_them():
    owner = alice()
    request = make_request(owner)
    seen = {person: buttons(browser(user).get(request.get_absolute_url()).text) for person, user in
            {"Alice": owner, "Bob": bob(), "Carol": carol()}.items()}  # fmt: skip
    assert seen == {
        "Alice": ["Cancel request"],
        "Bob": ["Review changes", "Edit as JSON", "Cancel request", "Approve", "Reject"],
        "Carol": [],
    }


def test_assignee_answers_without_access_to_other_requests():
    owner, dora = alice(), User.objects.create(username="dora")
    theirs = make_request(owner, Kind.FORM, title="For Dora", assigned_to=dora, response_schema={"type": "object"})
    workflow = theirs.workflow
    make_request(owner, title="Not for Dora", workflow=workflow)
    page = browser(dora).get(workflow.get_absolute_url()).text
    assert titles(page) == ["For Dora"]
    assert parse(page).find("table", class_="list") == []
    assert buttons(page) == ["Answer", "Decline"]
    # Old approvals may have assignees without the right to decide, who can still read them.
    ApprovalRequest.objects.filter(title="Not for Dora").update(assigned_to=dora)
    assert buttons(browser(dora).get(workflow.get_absolute_url()).text) == ["Answer", "Decline"]


def test_question_shows_its_options_only_to_people_who_may_answer():
    owner = alice()
    options = [{"label": "Standard", "description": "free"}, {"label": "Express"}]
    request = make_request(owner, Kind.QUESTION, options=options, allow_text=True, input={})
    assert buttons(browser(owner).get(request.get_absolute_url()).text) == [
        "Standard free",
        "Express",
        "Answer",
        "Decline",
        "Cancel request",
    ]
    assert buttons(browser(carol()).get(request.get_absolute_url()).text) == []


def test_decision_shows_who_when_why_and_via():
    owner, by = alice(), bob()
    request = make_request(owner, input={"amount": 250, "orderId": "4711"})
    decide(request, by, Verdict.EDIT, comment="Half of it.", edited_input={"amount": 125, "orderId": "4711"})
    page = browser(owner).get(request.get_absolute_url()).text
    (outcome,) = parse(page).find("div", class_="outcome")
    (who,), (why,) = outcome.find("p"), outcome.find("blockquote")
    assert re.fullmatch(r"Approved with changes by bob (just now|.+ ago) via web", who.words)
    assert why.words == "Half of it."
    assert [cell.words for cell in outcome.find("table")[0].find("tr")[1].all() if cell.tag in {"th", "td"}] == [
        "amount",
        "250",
        "125",
    ]
    assert buttons(page) == []


def test_workflow_shows_its_requests_and_its_audit_log():
    owner, by = alice(), bob()
    workflow = make_workflow(owner)
    first, _ = (make_request(owner, workflow=workflow, title=title) for title in ("First", "Second"))
    decide(first, by, Verdict.REJECT, comment="No.")
    page = browser(owner).get(workflow.get_absolute_url()).text
    assert titles(page) == ["First", "Second"]
    (record,) = parse(page).find("table", class_="list")
    rows = [[cell.words for cell in row.find("td")] for row in record.find("tr")[1:]]
    assert [(row[1], row[3], row[4]) for row in rows] == [
        ("Approval requested", "alice", "API"),
        ("Approval requested", "alice", "API"),
        ("Rejected", "bob", "web"),
    ]


@pytest.mark.parametrize(("address", "status"), [("/", 422), ("/workflows/?show=suspended", 200), ("/workflows/", 200)])
def test_invalid_cursor_is_refused_or_ignored(address, status):
    client = browser(alice())
    assert [place for place in HOSTILE_PLACES if client.get(address, {"after": place}).status_code != status] == []


def test_overdue_request_looks_waiting_until_the_sweep():
    request = make_request(alice(), deadline_at=PAST)
    page = browser(bob()).get(request.get_absolute_url()).text
    assert buttons(page) == ["Review changes", "Edit as JSON", "Cancel request", "Approve", "Reject"]
    assert actions.expire(request.pk)
    page = browser(carol()).get(request.get_absolute_url()).text
    (outcome,) = parse(page).find("div", class_="outcome")
    assert outcome.words.startswith("Expired because no one decided in time")
