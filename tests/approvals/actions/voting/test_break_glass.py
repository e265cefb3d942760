"""Breaking the glass decides alone in place of several people: with a message, on record, and everyone is told."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.core import mail

from approvals.exceptions import Invalid, NotAllowed
from approvals.models import AuditEntry, Decision
from approvals.outbound import notifications
from approvals.states import Control, Verdict
from tests.support.desk.away import away
from tests.support.desk.carrying import carry, sent, tell, with_address
from tests.support.desk.pressing import HTMX, at, browser, press, seen
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.votes import both, group, make_team, make_voted, vote, with_terms
from tests.support.machine import Machine
from tests.support.markup import forms
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db(transaction=True)

RIGHTS = ("decide_approvalrequest", "view_approvalrequest")


@pytest.fixture(autouse=True)
def _public(settings):
    settings.HITL_MAIL = True
    settings.PUBLIC_URL = "https://desk.example.org"


@pytest.fixture
def frank():
    """May break the glass, and is in no team."""
    return with_address(make_person("frank", *RIGHTS, "break_glass"))


@pytest.fixture
def payment():
    finance = make_team("finance", with_address(bob()))
    return make_voted(with_address(alice()), both(group(finance, votes=2)), title="Pay")


@pytest.mark.parametrize("comment", ["", "  ", "\u200b", "\u2060 \ufeff"])
def test_a_message_in_which_no_one_reads_anything_is_none(payment, frank, comment):
    with pytest.raises(Invalid):
        decide(payment, frank, Verdict.APPROVE, comment=comment, break_glass=True)
    assert stored(payment).status == "pending"


def test_one_person_decides_and_everyone_concerned_is_told(payment, frank):
    with_address(carol())
    outcome = decide(payment, frank, Verdict.APPROVE, comment="The plant is on fire.", break_glass=True)
    assert (outcome.decision.by_name, outcome.decision.break_glass, stored(payment).status) == (
        "frank",
        True,
        "approved",
    )
    entry = AuditEntry.objects.get(event="request.decided")
    assert (entry.data["break_glass"], entry.data["comment"]) == (True, "The plant is on fire.")
    carry()
    assert sorted((message.to, message.subject) for message in mail.outbox) == [
        (["alice@example.org"], "[Pausepoint] frank used break-glass access: Pay (support)"),
        (["bob@example.org"], "[Pausepoint] frank used break-glass access: Pay (support)"),
    ]


def test_the_delegate_of_a_voter_who_is_away_is_told_too(payment, frank):
    away(User.objects.get(username="bob"), with_address(make_person("dave", *RIGHTS)))
    decide(payment, frank, Verdict.APPROVE, comment="The plant is on fire.", break_glass=True)
    carry()
    told = [["alice@example.org"], ["bob@example.org"], ["dave@example.org"]]
    assert sorted(message.to for message in mail.outbox) == told


def test_those_concerned_are_told_at_once_whatever_else_they_were_sent(payment, frank):
    with_address(User.objects.get(username="bob"))
    tell(User.objects.get(username="bob"))
    make_request(payment.requested_by, title="Another")
    carry()
    make_request(payment.requested_by, title="A third")
    carry()
    assert [subject for _, subject in sent()] == ["[Pausepoint] Another (support)"]
    decide(payment, frank, Verdict.APPROVE, comment="The bank closes.", break_glass=True)
    first, second = notifications.due_jobs([]), notifications.due_jobs([])
    # Two processes at the same moment: each message is claimed once.
    assert [[job.claim() for job in jobs] for jobs in (first, second)] == [[True, True], [False, False]]
    assert ([job.work() for job in first], notifications.due_jobs([])) == ([True, True], [])
    assert sorted(message.to for message in mail.outbox[1:]) == [["alice@example.org"], ["bob@example.org"]]
    (told,) = [message.body for message in mail.outbox[1:] if message.to == ["bob@example.org"]]
    assert ("frank" in told, "A third" in told) == (True, True)


def test_a_message_is_mandatory(payment, frank):
    with pytest.raises(Invalid, match="write a message that explains why"):
        decide(payment, frank, Verdict.APPROVE, break_glass=True)


def test_no_one_without_the_right_decides_alone(payment):
    with pytest.raises(NotAllowed, match="You cannot decide this request alone"):
        decide(payment, make_person("dave", *RIGHTS), Verdict.APPROVE, comment="Now!", break_glass=True)
    with pytest.raises(NotAllowed):
        decide(
            payment,
            make_person("grace", "view_approvalrequest", "break_glass"),
            Verdict.APPROVE,
            comment="Now!",
            break_glass=True,
        )


def test_what_one_person_decides_anyway_is_not_decided_alone(frank):
    with pytest.raises(NotAllowed, match="You cannot decide this request alone"):
        decide(make_request(alice()), frank, Verdict.APPROVE, comment="Now!", break_glass=True)


def test_four_eyes_hold_also_in_an_emergency(frank):
    request = with_terms(make_request(frank), both(group(votes=2)), control=Control.FOUR_EYES)
    with pytest.raises(NotAllowed, match="two-person rule"):
        decide(request, frank, Verdict.APPROVE, comment="Now!", break_glass=True)


def test_what_is_decided_alone_is_the_input_that_was_proposed(payment, frank):
    proposer = payment.requested_by.__class__.objects.get(username="bob")
    vote(payment, proposer, Verdict.EDIT, edited_input={"amount": 1})
    digest = stored(payment).voted_digest
    decide(payment, frank, Verdict.APPROVE, comment="Now!", break_glass=True, shown_digest=digest)
    assert Decision.objects.get().edited_input == {"amount": 1}


def test_the_page_has_a_button_of_its_own_for_those_who_may(payment, frank):
    client = browser(frank)
    page = client.get(payment.get_absolute_url()).text
    (form,) = forms(page, "decide/")
    assert form.fields["break_glass"] == "yes"
    assert press(client, form, "Reject alone", comment="Fraud.").status_code == 302
    assert "One person decided what needs several." in client.get(payment.get_absolute_url()).text
    other = browser(make_person("dave", *RIGHTS))
    assert "Approve alone" not in other.get(payment.get_absolute_url()).text


def test_a_page_without_a_message_says_so(payment, frank):
    sent = seen(payment) | {"verdict": "approve", "break_glass": "yes"}
    refusal = browser(frank).post(at(payment), sent, headers=HTMX)
    assert (refusal.status_code, "write a message that explains why" in refusal.text) == (422, True)


def test_a_program_decides_alone_with_a_field_of_its_own(payment, frank):
    machine = Machine(frank)
    asked = {"id": str(payment.pk)}
    assert machine.decide(asked, "approve", comment="Fire.").status == 403
    done = machine.decide(asked, "approve", comment="Fire.", break_glass=True)
    assert (done.body["status"], done.body["decision"]["break_glass"]) == ("approved", True)


def test_no_page_calls_a_decision_with_break_glass_access_plainly_approved(payment, frank):
    decide(payment, frank, Verdict.APPROVE, comment="Fire.", break_glass=True)
    client = browser(make_person("otto", "view_auditentry", *RIGHTS))
    said = "Approved with break-glass access"
    for path in (payment.get_absolute_url(), f"{payment.get_absolute_url()}record/", "/?status=decided", "/audit/"):
        page = client.get(path).text
        assert said in page, path
        assert re.findall(r"badge[^>]*>\s*Approved\s*<|Approved</b>|Approved by", page) == [], path
