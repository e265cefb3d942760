"""Forms from schemas and the review of edits, as pages."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Decision
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import HTMX, at, browser, press
from tests.support.desk.requests import FUTURE, decide, make_request, stored
from tests.support.markup import forms, parse
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20, "description": "As in the passport"},
        "seats": {"type": "integer", "maximum": 9},
        "class": {"enum": ["economy", "business"]},
        "stops": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "seats"],
}
REFUND = {"amount": 250, "orderId": "4711", "to": {"name": "Jane", "iban": "DE1"}}


def a_form(**fields):
    return make_request(alice(), Kind.FORM, **{"input": {}, "response_schema": SCHEMA} | fields)


def only(page, tag, **attributes):
    (found,) = parse(page).find(tag, **attributes)
    return found


def test_form_works_without_javascript():
    asked = a_form()
    client = browser(asked.requested_by)
    (form,) = forms(client.get(asked.get_absolute_url()).text, "decide/")
    assert {name for name in form.fields if name.startswith("answer")} >= {
        "answer.name",
        "answer.seats",
        "answer.stops",
    }
    data = form.fields | {"answer.name": "Jane", "answer.seats": "2", "answer.class": "1", "verdict": "respond"}
    assert client.post(form.action, data | {"answer.stops": ["Rome", ""]}).status_code == 302
    assert Decision.objects.get().answer == {"name": "Jane", "seats": 2, "class": "business", "stops": ["Rome"]}


def test_errors_are_shown_at_their_fields_and_input_is_kept():
    asked = a_form()
    typed = {"answer.name": "J" * 21, "answer.seats": "many", "answer.class": "0", "answer.stops": ["Rome"]}
    refused = browser(bob()).post(at(asked), typed | {"verdict": "respond", "digest": asked.input_digest}, headers=HTMX)
    assert refused.status_code == 422
    name, seats = only(refused.text, "input", name="answer.name"), only(refused.text, "input", name="answer.seats")
    assert [(one.attributes["value"], one.attributes["aria-invalid"]) for one in (name, seats)] == [
        ("J" * 21, "true"),
        ("many", "true"),
    ]
    described = [only(refused.text, "p", id=one).words for one in name.attributes["aria-describedby"].split()]
    assert described == ["As in the passport · at most 20 characters", "This may have at most 20 characters."]
    assert (
        only(refused.text, "p", id=seats.attributes["aria-describedby"].split()[-1]).words == "This must be a number."
    )
    links = {
        link.attributes["href"].removeprefix("#")
        for link in parse(refused.text).find("a")
        if link.attributes["href"][0] == "#"
    }
    assert links == {name.attributes["id"], seats.attributes["id"]}
    chosen = [
        one.attributes["value"]
        for one in parse(refused.text).find("input", type="radio")
        if "checked" in one.attributes
    ]
    rows = [one.attributes["value"] for one in parse(refused.text).find("input", name="answer.stops")]
    assert (chosen, rows, stored(asked).status) == (["0"], ["Rome", "", ""], "pending")


def test_answer_in_json_shows_errors_with_their_paths():
    schema = {"oneOf": [{"type": "array", "items": {"type": "integer"}}], "type": "array", "items": {"type": "integer"}}
    asked = a_form(response_schema=schema)
    client = browser(bob())
    refused = client.post(
        at(asked), {"verdict": "respond", "digest": asked.input_digest, "text": '[1, "x"]'}, headers=HTMX
    )
    area = only(refused.text, "textarea", name="text")
    words = only(refused.text, "p", id=area.attributes["aria-describedby"]).words
    assert (area.text.strip(), area.attributes["aria-invalid"]) == ('[1, "x"]', "true")
    assert "1 must be a whole number" in words
    assert (
        client.post(at(asked), {"verdict": "respond", "digest": asked.input_digest, "text": "[1]"}).status_code == 302
    )
    assert Decision.objects.get().answer == [1]


def test_question_with_a_typed_schema_gets_that_field():
    asked = make_request(alice(), Kind.QUESTION, input={}, response_schema={"type": "integer"}, suggestions=["5"])
    client = browser(asked.requested_by)
    form = forms(client.get(asked.get_absolute_url()).text, "decide/")[0]
    assert press(client, form, "Answer", answer="7").status_code == 302
    assert Decision.objects.get().answer == 7


def test_question_without_options_takes_text():
    asked = make_request(alice(), Kind.QUESTION, input={}, response_schema={"type": "string"})
    client = browser(asked.requested_by)
    form = forms(client.get(asked.get_absolute_url()).text, "decide/")[0]
    assert press(client, form, "Answer", text="Fine.").status_code == 302
    assert Decision.objects.get().answer == "Fine."


def test_choice_is_returned_in_the_shape_of_the_schema():
    asked = make_request(
        alice(), Kind.QUESTION, input={}, options=[{"label": "S"}, {"label": "M"}], response_schema={"enum": ["S", "M"]}
    )
    assert (
        browser(asked.requested_by)
        .post(at(asked), {"verdict": "respond", "digest": asked.input_digest, "choice": "1"})
        .status_code
        == 302
    )
    assert Decision.objects.get().answer == "M"


@pytest.fixture
def refund(db):
    return make_request(alice(), input=REFUND)


def test_edit_is_reviewed_and_can_be_changed_again(refund):
    client, page = browser(bob()), refund.get_absolute_url()
    (form,) = forms(client.get(page).text, "review/")
    typed = {"input.amount": "100", "input.to.iban": "DE2", "comment": "Less."}
    shown = press(client, form, "Review changes", **typed)
    assert (shown.status_code, Decision.objects.count()) == (200, 0)
    review = only(shown.text, "div", class_="review")
    assert review.find("h5")[0].words == "You are about to approve this with 2 changes"
    rows = [[cell.words for cell in row.all() if cell.tag in {"th", "td"}] for row in review.find("tr")[1:]]
    assert rows == [["amount", "250", "100"], ["to.iban", "DE1", "DE2"]]
    (again,) = forms(shown.text, "review/")
    back = press(client, again, "Edit again")
    assert {name: forms(back.text, "review/")[0].fields[name] for name in typed} == typed
    assert "open" in only(back.text, "details", class_="edit").attributes
    (send,) = forms(shown.text, "decide/")
    answered = press(client, send, "Approve with changes")
    assert (answered.status_code, answered.headers["Location"]) == (302, page)
    made = Decision.objects.get()
    assert (made.verdict, made.comment) == ("edit", "Less.")
    assert made.edited_input == {"amount": 100, "orderId": "4711", "to": {"name": "Jane", "iban": "DE2"}}


def test_review_without_changes_says_so_and_approves(refund):
    client = browser(bob())
    (form,) = forms(client.get(refund.get_absolute_url()).text, "review/")
    shown = press(client, form, "Review changes")
    assert only(shown.text, "p", class_="review-title").words.startswith("You changed nothing")
    assert press(client, forms(shown.text, "decide/")[0], "Approve").status_code == 302
    assert Decision.objects.get().verdict == "approve"


def test_invalid_edit_is_not_reviewed(refund):
    edit = {"verdict": "edit", "input.amount": "1", "input.orderId": "1", "input.to.name": "", "input.to.iban": ""}
    strange = make_request(
        refund.requested_by, input={"amount": 5}, response_schema={"properties": {"amount": {"maximum": 9}}}
    )
    client = browser(bob())
    for status, user, asked, data in (
        (422, None, refund, edit | {"input.amount": "x"}),
        (422, None, refund, {"verdict": "shout"}),
        (422, None, strange, {"verdict": "edit", "input.amount": "10"}),
        (403, carol(), refund, edit),
        (404, mallory(), refund, edit),
    ):
        for headers in ({}, HTMX):
            sender = browser(user) if user else client
            assert sender.post(at(asked, "review"), data, headers=headers).status_code == status
    decide(refund, bob_again(), Verdict.REJECT)
    late = client.post(at(refund, "review"), edit, headers=HTMX)
    assert (late.status_code, parse(late.text).find("div", class_="review")) == (409, [])
    assert client.get(at(refund, "review")).status_code == 405


def bob_again():
    return User.objects.get(username="bob")


def test_digest_covers_the_raw_json(refund):
    page = browser(bob()).get(refund.get_absolute_url()).text
    raw = only(page, "details", class_="raw")
    assert raw.find("pre")[0].text == '{"amount":250,"orderId":"4711","to":{"iban":"DE1","name":"Jane"}}'
    assert refund.input_digest in raw.words


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (Kind.APPROVAL, {}, "then it is rejected"),
        (Kind.FORM, {}, "then the agent continues without an answer"),
        (
            Kind.QUESTION,
            {"default_response": "M", "options": [{"label": "M"}]},
            "then the answer is “M”",
        ),
    ],
)
def test_deadline_says_what_happens_when_it_passes(kind, fields, words):
    asked = make_request(alice(), kind, deadline_at=FUTURE, **fields)
    deadline = only(browser(bob()).get(asked.get_absolute_url()).text, "p", class_="deadline")
    assert deadline.find("span", class_="sub")[0].words == words
    assert deadline.attributes["data-deadline"].startswith(f"{FUTURE:%Y-%m-%dT%H:%M:%S}")


@pytest.mark.django_db(transaction=True)
def test_answer_that_does_not_match_its_schema_takes_no_lock():
    asked, by = make_request(alice(), Kind.FORM, response_schema=SCHEMA), bob()
    client = browser(by)
    with CaptureQueriesContext(connection) as found:
        sent = {"verdict": "respond", "answer.name": "J" * 21, "answer.seats": "1", "digest": asked.input_digest}
        assert client.post(at(asked), sent).status_code == 422
    assert [sql for query in found if (sql := query["sql"]).startswith("BEGIN") or "FOR UPDATE" in sql] == []
