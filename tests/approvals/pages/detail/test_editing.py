"""An input can be edited in fields or as JSON, and is checked while typing."""

from __future__ import annotations

import pytest

from approvals.models import Decision
from tests.support.desk.pressing import HTMX, at, browser, press
from tests.support.desk.requests import make_request, stored
from tests.support.markup import forms, parse
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db

SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 100}}}
INPUT = {"amount": 20, "note": "two\nlines", "tags": ["a", "b"]}

TYPED = {"input.amount": "50", "input.note": "x", "input.tags": "[]"}


@pytest.fixture
def asked():
    return make_request(alice(), input=INPUT, response_schema=SCHEMA)


def edit_form(html: str):
    (form,) = forms(html, "review/")
    return form


def test_switching_keeps_what_was_typed_and_json_can_be_approved(asked):
    client = browser(bob())
    form = edit_form(client.get(asked.get_absolute_url()).text)
    typed = {"input.amount": "30", "input.tags": INPUT["tags"]}
    as_json = press(client, form, "Edit as JSON", **typed)
    form = edit_form(as_json.text)
    assert '"amount": 30' in form.fields["input"]
    fields = edit_form(press(client, form, "Edit in fields", input=form.fields["input"].replace("30", "40")).text)
    assert fields.fields["input.amount"] == "40"
    review = press(client, form, "Review changes", input=form.fields["input"].replace("30", "50"))
    (done,) = forms(review.text, "decide/")
    assert press(client, done, "Approve with changes").status_code == 302
    assert Decision.objects.get(request=asked).edited_input == INPUT | {"amount": 50}


def test_values_that_the_fields_cannot_show_stay_json(asked):
    client = browser(bob())
    form = edit_form(press(client, edit_form(client.get(asked.get_absolute_url()).text), "Edit as JSON").text)
    refused = press(client, form, "Edit in fields", input='{"amount": 20, "new": {"deep": [1]}}')
    assert refused.status_code == 422
    assert "These values do not match the fields." in parse(refused.text).words
    assert '"deep"' in edit_form(refused.text).fields["input"]


def test_an_edit_is_checked_while_it_is_typed_and_nothing_is_decided(asked):
    client, address = browser(bob()), at(asked, "check")
    wrong = client.post(address, TYPED | {"input.amount": "200"}, headers=HTMX)
    assert (wrong.status_code, parse(wrong.text).words) == (200, "amount must be at most 100.")
    right = client.post(address, TYPED)
    assert (right.status_code, right.text.strip()) == (200, "")
    as_json = client.post(address, {"edit_as": "json", "input": "{"}, headers=HTMX)
    assert parse(as_json.text).words.startswith("Input ")
    assert stored(asked).status == "pending"


def test_who_may_not_see_the_request_gets_404(asked):
    assert browser(mallory()).post(at(asked, "check"), {}).status_code == 404
