"""A field for a person: suggests the people that the reader may know, and accepts no one else."""

from __future__ import annotations

import pytest

from approvals.models import Decision
from approvals.states import Kind
from tests.support.desk.pressing import HTMX, at, browser
from tests.support.desk.requests import make_request
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person, mallory

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "object",
    "properties": {"owner": {"type": "string", "format": "person", "title": "Owner"}},
    "required": ["owner"],
}


def a_form():
    return make_request(alice(), Kind.FORM, input={}, response_schema=SCHEMA)


def answered(asked, person, name):
    data = {"verdict": "respond", "digest": asked.input_digest, "answer.owner": name}
    return browser(person).post(at(asked), data, headers=HTMX)


def test_the_field_suggests_people_and_keeps_their_username():
    asked, carol, approver = a_form(), make_person("carol"), bob()
    carol.first_name = "Carol Jones"
    carol.save()
    client = browser(approver)
    (field,) = parse(client.get(asked.get_absolute_url()).text).find("input", name="answer.owner")
    assert client.get(field.attributes["data-source"], {"q": "jones"}).json() == {"values": ["carol"]}
    assert answered(asked, approver, "carol").status_code == 200
    assert Decision.objects.get().answer == {"owner": "carol"}


def test_who_sees_only_their_own_requests_is_shown_those_who_have_to_do_with_it():
    asked, _other = a_form(), make_person("carol")
    requester = asked.requested_by
    assert browser(requester).get(at(asked, "people"), {"q": ""}).json() == {"values": ["alice"]}
    assert browser(requester).get(at(asked, "people"), {"q": "\0"}).json() == {"values": []}
    assert browser(mallory()).get(at(asked, "people"), {"q": ""}).status_code == 404


def test_a_name_of_no_active_person_is_refused_from_every_client():
    asked, gone, approver = a_form(), make_person("gone"), bob()
    gone.is_active = False
    gone.save()
    for name in ("gone", "nobody"):
        page = answered(asked, approver, name)
        (error,) = [each.words for each in parse(page.text).find("p", **{"class": "field-error"})]
        assert (page.status_code, error) == (422, "This must be the username of an active person.")
    reply = Machine(approver, ("decide",)).post(
        f"/requests/{asked.pk}/decision", {"verdict": "respond", "answer": {"owner": "gone"}}
    )
    assert (reply.refusal, reply.body["errors"]) == (
        (422, "invalid"),
        {"answer.owner": "'gone' is not the username of an active person"},
    )
