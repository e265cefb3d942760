"""Votes on the pages: rights, progress, and refusals."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.exceptions import Invalid
from approvals.live.batching import BatchCache
from approvals.models import Decision, Vote
from approvals.pages.cards import card_for
from approvals.pages.consumers import _workflow_changed
from approvals.policy.terms import MessageRule, OnExpire, Terms
from approvals.states import Verdict
from tests.support.desk.away import away
from tests.support.desk.pressing import HTMX, at, browser, press, seen
from tests.support.desk.requests import REFUND, decide, stored
from tests.support.desk.scopes import again
from tests.support.desk.votes import both, group, make_voted, vote, votes_of, with_terms
from tests.support.markup import buttons, forms, parse
from tests.support.people import PASSWORD, alice, carol, make_person

pytestmark = pytest.mark.django_db

LESS = {**REFUND, "amount": 50}


def words_of(html, tag, class_):
    return [found.words for found in parse(html).find(tag, class_=class_)]


@pytest.mark.shows("pages", "progress", "vote")
def test_the_first_vote_leaves_the_card_waiting_and_the_second_ends_it(payment, people):
    first = browser(people[0])
    (form, *_) = forms(first.get(payment.get_absolute_url()).text, "decide/")
    assert press(first, form, "Approve", comment="Paid before.").status_code == 302
    page = first.get(payment.get_absolute_url()).text
    assert words_of(page, "p", "votes-progress") == ["1 of 2, security missing"]
    assert words_of(page, "span", "stage") == ["finance ✓ approved by bob Paid before. security \u2013 missing"]
    assert "bob approved" in words_of(page, "ul", "votes-cast")[0]
    second = browser(people[1])
    (form, *_) = forms(second.get(payment.get_absolute_url()).text, "decide/")
    press(second, form, "Approve")
    assert (stored(payment).status, votes_of(payment)) == ("approved", [("bob", "approve"), ("dave", "approve")])


def test_someone_of_neither_team_sees_who_is_missing_and_no_buttons(payment, people):
    page = browser(people[2]).get(payment.get_absolute_url()).text
    assert "Approve" not in buttons(page)
    assert "This request is waiting for finance and security." in page
    refusal = browser(people[2]).post(at(payment), seen(payment) | {"verdict": "approve"}, headers=HTMX)
    assert (refusal.status_code, Vote.objects.count()) == (403, 0)
    assert "This request is waiting for finance and security." in refusal.text


def test_a_card_shows_the_proposal_and_votes_on_it(payment, people):
    vote(payment, people[0], Verdict.EDIT, edited_input=LESS)
    client = browser(people[1])
    page = client.get(payment.get_absolute_url()).text
    assert "bob has changed the input." in page
    assert [row.words for row in parse(page).find("table", class_="changes")[0].find("tr")][1] == "amount 120 50"
    old = client.post(at(payment), seen(payment) | {"verdict": "approve"}, headers=HTMX)
    assert old.status_code == 409
    (form, *_) = forms(page, "decide/")
    press(client, form, "Approve")
    assert (Decision.objects.get().edited_input, Decision.objects.get().verdict) == (LESS, "edit")


def test_an_edit_of_a_proposal_starts_from_the_proposal(payment, people):
    vote(payment, people[0], Verdict.EDIT, edited_input=LESS)
    client = browser(people[1])
    (form,) = forms(client.get(payment.get_absolute_url()).text, "review/")
    assert form.fields["input.amount"] == "50"
    shown = press(client, form, "Review changes", **{"input.amount": "40"})
    (form, *_) = forms(shown.text, "decide/")
    press(client, form, "Approve with changes")
    assert (stored(payment).proposal["input"]["amount"], stored(payment).proposal["by"]) == (40, "dave")


def test_the_deadline_says_that_the_run_is_stopped(people):
    later = timezone.now() + timedelta(hours=3)
    request = make_voted(alice(), Terms(on_expire=OnExpire.HALT), deadline_at=later)
    (deadline,) = parse(browser(people[0]).get(request.get_absolute_url()).text).find("p", class_="deadline")
    assert deadline.words.endswith(", then the run is stopped")


def test_where_every_decision_needs_a_message_the_page_says_so(people):
    request = make_voted(alice(), Terms(reason=MessageRule.ALWAYS), input=REFUND)
    page = parse(browser(people[0]).get(request.get_absolute_url()).text)
    assert "Every decision needs a message." in [hint.words for hint in page.find("p", class_="hint")]
    (form,) = page.find("details", class_="edit")
    assert "Message to the agent" in form.words
    assert "(optional)" not in form.words
    with pytest.raises(Invalid) as refused:
        decide(request, people[0], Verdict.EDIT, edited_input=["no object"])
    assert [*refused.value.errors] == ["edited_input", "comment"]


def test_a_lost_vote_is_struck_out(payment, people):
    vote(payment, people[0])
    people[0].groups.clear()
    page = browser(carol()).get(payment.get_absolute_url()).text
    assert words_of(page, "p", "votes-progress") == ["0 of 2, finance and security missing"]
    assert words_of(page, "span", "vote-note") == ["no longer counts"]


def test_the_inbox_says_how_far_it_is(payment, people):
    vote(payment, people[0])
    assert words_of(browser(carol()).get("/requests/").text, "span", "row-progress") == ["1 of 2 approvals"]


def test_the_inbox_reads_as_many_statements_for_one_voted_request_as_for_many(payment, people):
    client = browser(people[0])
    client.get("/requests/")
    with CaptureQueriesContext(connection) as one:
        client.get("/requests/")
    asker = payment.requested_by
    for _ in range(3):
        request = make_voted(asker, both(group(votes=2)), input=REFUND)
        vote(request, people[0])
    with CaptureQueriesContext(connection) as many:
        client.get("/requests/")
    # One more reads the rights of the voters; before, there were none.
    assert len(many) <= len(one) + 4


def test_a_bulk_decision_votes(payment, people):
    client = browser(people[0])
    pick = f"{payment.pk}:{payment.input_digest}"
    sent = {"pick": [pick], "verdict": "approve", "confirmed": "yes"}
    done = client.post("/requests/bulk/", sent)
    assert "Your vote is counted: 1 of 2, security missing." in done.text
    refused = browser(people[2]).post("/requests/bulk/", sent)
    assert "Your vote is not needed now. This request is waiting for security." in refused.text
    assert votes_of(payment) == [("bob", "approve")]


def test_a_rejection_by_terms_needs_a_message(people):
    request = with_terms(make_voted(alice(), Terms()), Terms(reason=MessageRule.ALWAYS))
    for verdict in ("approve", "reject"):
        sent = seen(request) | {"verdict": verdict}
        assert browser(people[0]).post(at(request), sent, headers=HTMX).status_code == 422
    sent["comment"] = "As agreed."
    assert browser(people[0]).post(at(request), sent, headers=HTMX).status_code == 200


def test_a_typed_name_by_terms_is_typed(people):
    request = make_voted(alice(), Terms(typed_name=True))
    client = browser(people[0])
    sent = seen(request) | {"verdict": "approve"}
    assert client.post(at(request), sent, headers=HTMX).status_code == 422
    assert client.post(at(request), sent | {"typed_name": "pay"}, headers=HTMX).status_code == 200
    assert stored(request).status == "approved"


def test_whoever_has_not_just_logged_in_logs_in_again_and_comes_back(people):
    request = make_voted(alice(), Terms(fresh_sign_in=True))
    client = browser(people[0])
    sent = seen(request) | {"verdict": "approve"}
    refusal = client.post(at(request), sent, headers=HTMX)
    again = f"/login/again/?next={request.get_absolute_url()}"
    assert (refusal.status_code, again in refusal.text) == (403, True)
    assert client.post("/login/again/", {"password": "wrong"}).status_code == 200
    back = client.post(again, {"password": PASSWORD, "next": request.get_absolute_url()})
    assert (back.status_code, back.headers["Location"]) == (302, request.get_absolute_url())
    assert client.post(at(request), sent, headers=HTMX).status_code == 200
    assert stored(request).status == "approved"


@pytest.mark.parametrize(
    ("terms", "priority", "wanted", "announced"),
    [
        (Terms(fresh_sign_in=True), "normal", (), True),
        (Terms(), "critical", ("critical",), True),
        (Terms(), "critical", (), False),
        (Terms(), "high", ("critical",), False),
    ],
)
def test_a_card_announces_a_fresh_log_in_for_terms_and_for_the_setting(
    people, settings, terms, priority, wanted, announced
):
    settings.HITL_FRESH_SIGN_IN_FOR = wanted
    request = make_voted(alice(), terms, priority=priority)
    page = parse(browser(people[0]).get(request.get_absolute_url()).text)
    facts = [span.words for span in page.find("div", class_="request-facts")[0].find("span")]
    assert ("needs a fresh log-in Log in again" in facts) == announced


def test_a_log_in_of_some_time_ago_is_not_fresh(people, settings):
    request = make_voted(alice(), Terms(fresh_sign_in=True))
    client = browser(people[0])
    client.post("/login/again/", {"password": PASSWORD})
    session = client.session
    session["account_authentication_methods"] = [{"at": timezone.now().timestamp() - settings.HITL_FRESH_SIGN_IN - 1}]
    session.save()
    sent = seen(request) | {"verdict": "approve"}
    assert client.post(at(request), sent, headers=HTMX).status_code == 403


def test_other_open_pages_are_told_of_a_vote_and_forms_in_use_stay(payment, people):
    shared = BatchCache()
    before = card_for(standing_of(people[1]), payment).version
    vote(payment, people[0])
    pushed = _workflow_changed(standing_of(people[1]), shared, payment.workflow_id, str(payment.pk))
    assert "1 of 2, security missing" in words_of(pushed, "p", "votes-progress")[0]
    assert f'data-version="{before}"' in pushed
    # Whose vote is not wanted gets a card of their own.
    assert "This request is waiting for security." in _workflow_changed(
        standing_of(people[2]), shared, payment.workflow_id, str(payment.pk)
    )


def test_what_is_hidden_stays_hidden_in_a_proposal(people):
    schema = {"type": "object", "properties": {"token": {"type": "string", "writeOnly": True}}}
    asked = {"amount": 5, "token": "hunter-two"}
    request = make_voted(alice(), both(group(votes=2)), input=asked, response_schema=schema)
    vote(request, people[0], Verdict.EDIT, edited_input={"amount": 4, "token": "hunter-two"})
    client = browser(people[1])
    addresses = [request.get_absolute_url(), request.workflow.get_absolute_url(), "/requests/", "/audit/"]
    texts = [client.get(address).text for address in addresses]
    assert ["hunter-two" in text for text in texts] == [False] * len(texts)
    (form,) = forms(texts[0], "review/")
    shown = press(client, form, "Review changes", **{"input.amount": "3"})
    (form, *_) = forms(shown.text, "decide/")
    press(client, form, "Approve with changes")
    assert stored(request).proposal["input"] == {"amount": 3, "token": "hunter-two"}


@pytest.mark.shows("pages", "delegate")
def test_a_delegate_is_told_for_whom_they_vote_and_the_card_says_it(payment, people):
    absent, _dave, delegate = people
    away(absent, delegate)
    client = browser(again(delegate))
    page = client.get(payment.get_absolute_url()).text
    assert "You vote for bob, who is away." in parse(page).find("section", class_="votes")[0].words
    (form, *_) = forms(page, "decide/")
    press(client, form, "Approve")
    page = client.get(payment.get_absolute_url()).text
    assert "erin for bob approved" in words_of(page, "ul", "votes-cast")[0]
    vote(payment, absent)
    cast = words_of(client.get(payment.get_absolute_url()).text, "ul", "votes-cast")[0]
    assert "no longer counts: another vote counts for bob" in cast
    audit = browser(make_person("audrey", "view_auditentry", "view_approvalrequest")).get("/audit/?event=request.voted")
    assert "Vote for bob: approved" in " ".join(audit.text.split())
