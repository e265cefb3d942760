"""Deciding from a page, as a plain form and through htmx, and every refusal of it."""

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
def test_a_plain_form_decides_and_leads_back_to_the_page_it_stood_on(refund, button, stored_as, status):
    client = browser(bob())
    form = forms(client.get("/").text, "decide/")[0]
    answer = press(client, form, button, comment="Seen the parcel.")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert decision(refund) == (stored_as, "bob", "dashboard", "Seen the parcel.")
    assert stored(refund).status == status
    (outcome,) = parse(client.get(refund.get_absolute_url()).text).find("div", class_="outcome")
    assert outcome.find("b")[1].words == "bob"


def test_a_plain_form_approves_with_changes(refund):
    client = browser(bob())
    page = refund.get_absolute_url()
    (form,) = forms(client.get(page).text, "review/")
    shown = press(client, form, "Review changes", **{"input.amount": "125.50"})
    (form,) = forms(shown.text, "decide/")
    answer = press(client, form, "Approve with changes")
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert decision(refund) == ("edit", "bob", "dashboard", "")
    assert Decision.objects.get().edited_input == {"amount": 125.5, "orderId": "4711"}


def test_alice_withdraws_what_she_asked(refund):
    client = browser(stored(refund).requested_by)
    (form,) = forms(client.get("/").text, "cancel/")
    assert press(client, form, "Cancel request").status_code == 302
    assert decision(refund) == ("cancel", "alice", "dashboard", "")


def test_through_htmx_the_card_comes_back_with_its_outcome(refund):
    answer = browser(bob()).post(at(refund), seen(refund) | {"verdict": "approve", "from": "chat"}, headers=HTMX)
    assert answer.status_code == 200
    (card,) = parse(answer.text).inside
    assert (card.tag, card.attributes["id"]) == ("section", f"request-{refund.pk}")
    (outcome,) = card.find("div", class_="outcome")
    assert outcome.words.startswith("Approved by bob")
    assert "autofocus" in outcome.attributes
    assert decision(refund) == ("approve", "bob", "chat", "")


def test_who_comes_second_is_told_who_was_first(refund):
    by, eve = bob(), make_person("eve", "decide_approvalrequest")
    decide(refund, by, Verdict.REJECT, comment="No parcel.")
    words = refused(refund, eve, {"verdict": "approve", "comment": "Yes!"}, 409)
    assert words == "This request was rejected just now by bob."
    card = browser(eve).post(at(refund), seen(refund) | {"verdict": "approve"}, headers=HTMX).text
    assert parse(card).find("blockquote")[0].words == "No parcel."
    assert buttons(card) == []


def test_who_says_the_same_again_is_told_that_it_is_done(refund):
    client = browser(bob())
    data = seen(refund) | {"verdict": "approve", "comment": "Fine."}
    assert [client.post(at(refund), data).status_code for _ in range(3)] == [302, 302, 302]
    assert client.post(at(refund), data | {"comment": "Fine!"}).status_code == 409
    assert Decision.objects.count() == 1


def test_a_withdrawn_request_can_no_longer_be_decided(refund):
    cancel(refund, stored(refund).requested_by)
    assert refused(refund, bob(), {"verdict": "approve"}, 409) == "This request was cancelled just now by alice."


def test_after_the_deadline_the_card_says_so(db):
    late = make_request(alice(), deadline_at=PAST)
    words = refused(late, bob(), {"verdict": "approve"}, 410)
    assert words == "This request expired at 2026-01-01 12:00:00 UTC and can no longer be decided."
    assert decision(late) == ("expire", "", "deadline", "")


def test_who_may_only_look_is_told_that_deciding_is_for_others(refund):
    for user in (stored(refund).requested_by, carol()):
        words = refused(refund, user, {"verdict": "approve"}, 403)
        assert words == "You can see this request, but you cannot decide it."
    assert stored(refund).status == "pending"


def test_carol_may_not_withdraw_what_alice_asked(refund):
    answer = browser(carol()).post(at(refund, "cancel"), headers=HTMX)
    assert answer.status_code == 403
    (words,) = parse(answer.text).find("div", class_="refusal")
    assert words.words == "Only the owner and people who can decide can cancel this request."


def test_a_change_that_cannot_be_read_comes_back_as_it_was_typed(refund):
    typed = {"input.amount": "a lot", "input.orderId": "4711 & <b>", "comment": 'My "reason" & <i>'}
    words = refused(refund, bob(), typed | {"verdict": "edit"}, 422, **typed)
    assert words == "The changed input could not be read. amount must be a number"
    eve = browser(make_person("eve", "decide_approvalrequest"))
    card = eve.post(at(refund), seen(refund) | typed | {"verdict": "edit"}, headers=HTMX).text
    (details,) = parse(card).find("details", class_="edit")
    assert "open" in details.attributes


def test_a_comment_that_is_too_long_comes_back_whole(refund):
    comment = "long " * 1001
    words = refused(refund, bob(), {"verdict": "reject", "comment": comment}, 422, comment=comment)
    assert words == "The decision is invalid. comment is longer than 5,000 characters"


def test_a_comment_with_line_breaks_is_as_long_as_its_writer_sees_it(refund):
    written = ("x" * 99 + "\n") * 50
    answer = browser(bob()).post(
        at(refund), seen(refund) | {"verdict": "reject", "comment": written[:-1].replace("\n", "\r\n")}
    )
    assert answer.status_code == 302
    assert decision(refund)[3] == written[:-1]
