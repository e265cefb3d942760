"""Bulk decisions of requests that several people decide: the review, the input of a vote, and the counts."""

from __future__ import annotations

import pytest

from approvals.models import Decision
from approvals.states import Verdict
from tests.support.desk.away import away
from tests.support.desk.pressing import browser
from tests.support.desk.requests import REFUND, make_request, stored
from tests.support.desk.scopes import again
from tests.support.desk.votes import both, group, make_voted, vote, votes_of
from tests.support.markup import forms, parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db

LESS = {**REFUND, "amount": 50}


def picks_of(client, request):
    """The pick of a request as the row of the inbox has it."""
    (row,) = parse(client.get("/requests/").text).find("li", id=f"row-{request.pk}")
    return [box.attributes["value"] for box in row.find("input") if box.attributes.get("name") == "pick"]


def send(client, picks, **more):
    return client.post("/requests/bulk/", {"pick": picks, "verdict": "approve", **more})


def outcomes(html):
    rows = [row.find("td") for row in parse(html).find("tbody")[0].find("tr")]
    return {row[0].words: row[2].words for row in rows}


def test_the_row_of_a_proposal_is_approved_in_bulk_as_it_is_shown(payment, people):
    vote(payment, people[0], Verdict.EDIT, edited_input=LESS)
    client = browser(people[1])
    review = send(client, picks_of(client, payment))
    assert "50" in parse(review.text).find("section", class_="bulk-tool")[0].words
    (form,) = forms(review.text, "bulk/")
    done = client.post(form.action, form.fields | {"pick": picks_of(client, payment)})
    assert outcomes(done.text) == {"Payment": "Approved."}
    assert (Decision.objects.get().verdict, Decision.objects.get().edited_input) == ("edit", LESS)


def test_what_was_picked_before_the_proposal_is_refused_and_what_was_asked_too(payment, people):
    client = browser(people[1])
    before = picks_of(client, payment)
    vote(payment, people[0], Verdict.EDIT, edited_input=LESS)
    changed = "This request changed after you loaded the page. Review it again."
    assert outcomes(send(client, before).text) == {"Payment": changed}
    refused = send(client, before, confirmed="yes")
    assert outcomes(refused.text) == {"Payment": changed}
    vote(payment, people[0], Verdict.EDIT, edited_input={**REFUND, "amount": 40})
    assert outcomes(send(client, before, confirmed="yes").text) == {"Payment": changed}
    assert votes_of(payment) == [("bob", "approve")]


def test_rows_that_are_alike_are_picked_with_their_proposals(people, settings):
    settings.HITL_FLOOD = 2
    owner = alice()
    asked = [make_voted(owner, both(group(votes=2)), input={**REFUND, "refund_id": number}) for number in range(3)]
    vote(asked[1], people[0], Verdict.EDIT, edited_input={**REFUND, "refund_id": 9})
    client = browser(people[1])
    (form,) = [form for form in forms(client.get("/requests/").text, "bulk/") if "picks" in form.fields]
    assert form.fields["picks"].split() == [f"{one.pk}:{stored(one).voted_digest}" for one in asked]
    done = client.post(form.action, {"picks": form.fields["picks"], "verdict": "approve", "confirmed": "yes"})
    assert sorted(stored(one).status for one in asked) == ["approved", "pending", "pending"]
    assert "changed" not in done.text


def test_the_review_says_how_far_the_votes_are_and_for_whom_a_delegate_votes(payment, people):
    absent, other, delegate = people
    away(absent, delegate)
    vote(payment, other)
    client = browser(again(delegate))
    review = parse(send(client, picks_of(client, payment)).text)
    said = [words.words for words in review.find("span", class_="bulk-votes")]
    assert said == ["Votes: 1 of 2, finance missing. You vote for bob, who is away."]
    review = parse(send(browser(absent), picks_of(client, payment)).text)
    assert [words.words for words in review.find("span", class_="bulk-votes")] == ["Votes: 1 of 2, finance missing."]


def test_a_request_without_votes_says_nothing_of_them(people):
    client = browser(people[0])
    request = make_request(alice(), tool_name="refund", input=REFUND)
    assert "bulk-votes" not in send(client, picks_of(client, request)).text


def test_the_results_tell_decisions_from_votes(payment, people):
    absent, _other, delegate = people
    away(absent, delegate)
    owner = payment.requested_by
    alone = make_request(owner, tool_name="refund", input=REFUND, title="Alone")
    last = make_voted(owner, both(group(votes=2)), input=REFUND, title="Last")
    vote(last, people[1])
    client = browser(again(delegate))
    picks = [pick for request in (payment, alone, last) for pick in picks_of(client, request)]
    done = send(client, picks, confirmed="yes")
    assert parse(done.text).find("h1")[0].words == "2 requests approved · 1 vote counted"
    assert outcomes(done.text) == {
        "Payment": "Your vote for bob is counted: 1 of 2, security missing.",
        "Alone": "Approved.",
        "Last": "Approved.",
    }
    only = send(browser(people[1]), [f"{payment.pk}:{payment.voted_digest}"], verdict="reject", confirmed="yes")
    assert parse(only.text).find("h1")[0].words == "1 request rejected"


def test_votes_alone_are_not_said_to_be_decisions(payment, people):
    done = send(browser(people[0]), [f"{payment.pk}:{payment.voted_digest}"], confirmed="yes")
    page = parse(done.text)
    assert page.find("h1")[0].words == "1 vote counted"
    assert [hint.words for hint in page.find("p", class_="hint")] == ["1 request is waiting for other votes."]
