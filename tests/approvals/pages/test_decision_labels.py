"""Decisions are labeled with the words of the buttons of their kind."""

from __future__ import annotations

import re

import pytest

from approvals.states import OUTCOMES, Kind, Verdict, status_label, verdict_label
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.people import alice


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
