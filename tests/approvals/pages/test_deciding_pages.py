"""Deciding on pages, with plain forms and with htmx, and every refusal."""

from __future__ import annotations

import pytest

from approvals.models import Decision
from approvals.states import Verdict
from tests.support.desk.pressing import HTMX, at, browser, decision, press, refused, seen
from tests.support.desk.requests import PAST, cancel, decide, make_request, stored
from tests.support.markup import buttons, forms, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def refund(db):
    return make_request(alice(), input={"amount": 250, "orderId": "4711"})


@pytest.mark.parametrize(
    ("button", "stored_as", "status"),
    [("Approve", "approve", "approved"), ("Reject", "reject", "rejected")],
)
def test_plain_form_decides_and_returns_to_its_page(refund, button, stored_as, status):
    client = browser(bob())
    page = refund.workflow.get_absolute_url()
    form = forms(client.get(page).text, "decide/")[0]
    answer = press(client, form, button, comment="Seen the parcel.")
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert decision(refund) == (stored_as, "bob", "dashboard", "Seen the parcel.")
    assert stored(refund).status == status
    (outcome,) = parse(client.get(refund.get_absolute_url()).text).find("div", class_="outcome")
    assert outcome.find("b")[1].words == "bob"


def test_plain_form_approves_with_changes(refund):
    client = browser(bob())
    page = refund.get_absolute_url()
    (form,) = forms(client.get(page).text, "review/")
    shown = press(client, form, "Review changes", **{"input.amount": "125.50"})
    (form,) = forms(shown.text, "decide/")
    answer = press(client, form, "Approve with changes")
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert decision(refund) == ("edit", "bob", "dashboard", "")
    assert Decision.objects.get().edited_input == {"amount": 125.5, "orderId": "4711"}


def test_requester_cancels_their_request(refund):
    client = browser(stored(refund).requested_by)
    (form,) = forms(client.get(refund.get_absolute_url()).text, "cancel/")
    assert press(client, form, "Cancel request").status_code == 302
    assert decision(refund) == ("cancel", "alice", "dashboard", "")


def test_the_outcome_of_an_own_decision_has_the_display_name_at_once(refund):
    person = bob()
    person.first_name = "Bob Miller"
    person.save()
    answer = browser(person).post(at(refund), seen(refund) | {"verdict": "approve"}, headers=HTMX)
    (outcome,) = parse(answer.text).find("div", class_="outcome")
    assert outcome.find("b")[1].words == "Bob Miller (@bob)"


def test_htmx_gets_the_card_with_the_outcome(refund):
    answer = browser(bob()).post(at(refund), seen(refund) | {"verdict": "approve", "from": "chat"}, headers=HTMX)
    assert answer.status_code == 200
    (card,) = parse(answer.text).inside
    assert (card.tag, card.attributes["id"]) == ("section", f"request-{refund.pk}")
    (outcome,) = card.find("div", class_="outcome")
    assert outcome.words.startswith("Approved by bob")
    assert "autofocus" in outcome.attributes
    assert decision(refund) == ("approve", "bob", "chat", "")


def test_second_decision_names_the_first(refund):
    by, eve = bob(), make_person("eve", "decide_approvalrequest")
    decide(refund, by, Verdict.REJECT, comment="No parcel.")
    words = refused(refund, eve, {"verdict": "approve", "comment": "Yes!"}, 409)
    assert words == "This request was rejected just now by bob."
    card = browser(eve).post(at(refund), seen(refund) | {"verdict": "approve"}, headers=HTMX).text
    assert parse(card).find("blockquote")[0].words == "No parcel."
    assert buttons(card) == []


def test_repeated_decision_succeeds(refund):
    client = browser(bob())
    data = seen(refund) | {"verdict": "approve", "comment": "Fine."}
    assert [client.post(at(refund), data).status_code for _ in range(3)] == [302, 302, 302]
    assert client.post(at(refund), data | {"comment": "Fine!"}).status_code == 409
    assert Decision.objects.count() == 1


def test_cancelled_request_cannot_be_decided(refund):
    cancel(refund, stored(refund).requested_by)
    assert refused(refund, bob(), {"verdict": "approve"}, 409) == "This request was cancelled just now by alice."


def test_expired_request_says_so(db):
    late = make_request(alice(), deadline_at=PAST)
    words = refused(late, bob(), {"verdict": "approve"}, 410)
    assert words == "This request expired at 2026-01-01 12:00:00 UTC and can no longer be decided."
    assert decision(late) == ("expire", "", "deadline", "")


def test_readers_are_told_that_they_may_not_decide(refund):
    for user in (stored(refund).requested_by, carol()):
        words = refused(refund, user, {"verdict": "approve"}, 403)
        assert words == "You can see this request, but you cannot decide it."
    assert stored(refund).status == "pending"


def test_readers_cannot_cancel_requests_of_others(refund):
    answer = browser(carol()).post(at(refund, "cancel"), headers=HTMX)
    assert answer.status_code == 403
    (words,) = parse(answer.text).find("div", class_="refusal")
    assert words.words == "Only the requester and people who can decide can cancel this request."


def test_invalid_edit_is_kept_in_the_form(refund):
    typed = {"input.amount": "a lot", "input.orderId": "4711 & <b>", "comment": 'My "reason" & <i>'}
    words = refused(refund, bob(), typed | {"verdict": "edit"}, 422, **typed)
    assert words == "The changed input could not be read. amount must be a number"
    eve = browser(make_person("eve", "decide_approvalrequest"))
    card = eve.post(at(refund), seen(refund) | typed | {"verdict": "edit"}, headers=HTMX).text
    (details,) = parse(card).find("details", class_="edit")
    assert "open" in details.attributes


def test_long_message_is_kept_in_the_form(refund):
    comment = "long " * 1001
    words = refused(refund, bob(), {"verdict": "reject", "comment": comment}, 422, comment=comment)
    assert words == "The decision is invalid. The message to the agent is longer than 5,000 characters"


def test_line_breaks_of_a_message_count_once(refund):
    written = ("x" * 99 + "\n") * 50
    answer = browser(bob()).post(
        at(refund), seen(refund) | {"verdict": "reject", "comment": written[:-1].replace("\n", "\r\n")}
    )
    assert answer.status_code == 302
    assert decision(refund)[3] == written[:-1]
