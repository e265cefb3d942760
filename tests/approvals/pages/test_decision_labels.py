"""Decisions are labeled with the words of the buttons of their kind."""

from __future__ import annotations

import re

import pytest

from approvals.models import ApprovalRequest, Decision
from approvals.states import OUTCOMES, Kind, Status, Verdict, outcome_label, status_label, verdict_label
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.markup import parse
from tests.support.people import alice, bob


@pytest.mark.parametrize(
    ("kind", "verdict", "label"),
    [
        (Kind.APPROVAL, Verdict.APPROVE, "Approved"),
        (Kind.APPROVAL, Verdict.REJECT, "Rejected"),
        (Kind.QUESTION, Verdict.RESPOND, "Answered"),
        (Kind.QUESTION, Verdict.REJECT, "Declined"),
        (Kind.FORM, Verdict.REJECT, "Declined"),
        (Kind.RECOVERY, Verdict.APPROVE, "Run again"),
        (Kind.RECOVERY, Verdict.RESPOND, "Marked as succeeded"),
        (Kind.RECOVERY, Verdict.REJECT, "Marked as failed"),
        (Kind.QUESTION, Verdict.EXPIRE, "Expired"),
    ],
)
def test_the_label_follows_the_kind(kind, verdict, label):
    assert (verdict_label(verdict, kind), status_label(OUTCOMES[verdict], kind)) == (label, label)
    assert verdict_label(Verdict.EDIT, Kind.APPROVAL) == "Approved with changes"


def test_the_decision_names_a_request_and_without_one_its_status_does():
    request = ApprovalRequest(kind=Kind.APPROVAL, status=Status.APPROVED)
    assert outcome_label(request, Decision(verdict=Verdict.EDIT)) == "Approved with changes"
    alone = Decision(verdict=Verdict.APPROVE, break_glass=True)
    assert outcome_label(request, alone) == "Approved with break-glass access"
    assert outcome_label(request, None) == "Approved"


@pytest.mark.django_db
def test_a_request_approved_with_changes_shows_what_runs_and_says_so_on_every_page():
    owner = alice()
    request = make_request(owner, input={"amount": 10, "to": "acme"}, tool_name="pay")
    decide(request, bob(), Verdict.EDIT, edited_input={"amount": 7, "to": "acme"})
    client = browser(owner)
    page = parse(client.get(request.get_absolute_url()).text)
    assert page.find("title")[0].words == f"Approved with changes: {request.title} · Pausepoint"
    assert [badge.words for badge in page.find("span", class_="status-approved")] == ["Approved with changes"]
    [table] = [table for table in page.find("table") if table.words.startswith("Input, as approved")]
    assert [row.words for row in table.find("tr")] == ["amount changed 7", "to acme"]
    assert page.find("pre", id=f"raw-{request.pk}")[0].words == '{"amount":7,"to":"acme"}'
    for address in ("/?status=any", f"/requests/{request.pk}/record/", f"/palette/?q={request.title}"):
        assert "Approved with changes" in client.get(address).text


@pytest.mark.django_db
def test_a_declined_question_reads_declined_on_every_page():
    owner = alice()
    request = make_request(owner, Kind.QUESTION)
    decide(request, owner, Verdict.REJECT)
    client = browser(owner)
    for address in (request.get_absolute_url(), request.workflow.get_absolute_url(), "/requests/?status=any"):
        page = client.get(address).text
        assert "Declined" in page
        assert ">Rejected<" not in re.sub(r'<a href="/\?status=rejected"\s*>Rejected</a>', "", page)
