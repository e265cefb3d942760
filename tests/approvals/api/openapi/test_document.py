"""The OpenAPI document as strict tools read it: its JSON, its server, its schemas, and those of bodies."""

from __future__ import annotations

import itertools
import json

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from approvals.api.rest.bodies import NewResult
from approvals.api.rest.openapi import operations
from approvals.api.rest.urls import schema
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

ABSENT = object()
DIGEST = f"sha256:{'0' * 64}"


def of_body(name):
    """A validator of the schema of a body."""
    document = schema()
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": document["components"]})


def test_no_object_of_the_document_has_a_name_twice():
    def pairs(members):
        assert len(members) == len(dict(members)), [name for name, _ in members]
        return dict(members)

    machine = Machine(bob())
    text = machine.client.get("/api/v1/openapi.json", headers=machine.headers).content
    audit = json.loads(text, object_pairs_hook=pairs)["paths"]["/api/v1/audit"]["get"]["responses"]
    assert sorted(audit["200"]["content"]) == ["application/x-ndjson", "text/csv"]


def test_anyone_may_read_the_document():
    reply = Client().get("/api/v1/openapi.json")
    assert (reply.status_code, reply.json()) == (200, schema())


def test_the_document_names_its_server_license_contact_and_tags(settings):
    settings.PUBLIC_URL = "https://desk.example.com"
    document = schema()
    assert document["servers"] == [{"url": "https://desk.example.com"}]
    assert document["info"]["license"] == {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    assert document["info"]["contact"] == {"name": "Pausepoint", "url": "https://desk.example.com/api/v1/"}
    used = {tag for methods in document["paths"].values() for each in methods.values() for tag in each["tags"]}
    assert {each["name"] for each in document["tags"]} == used


def test_every_schema_of_the_document_is_used():
    document = schema()
    text = json.dumps(document)
    unused = [name for name in document["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_a_default_is_told_in_words_and_makes_no_field_of_a_body_required():
    document = schema()
    schemas = document["components"]["schemas"]
    defaults = [
        f"{name}.{field}"
        for name, body in schemas.items()
        for field, about in body.get("properties", {}).items()
        if "default" in about
    ]
    assert defaults == []
    request = schemas["NewRequest"]
    assert request["required"] == ["kind", "title"]
    assert request["properties"]["priority"]["description"].endswith('name of the tool. Default: "normal".')
    assert request["properties"]["message"]["description"] == "Markdown."


def test_the_page_shows_every_default():
    fields = {field["name"]: field for one in operations(schema()) for field in one["fields"]}
    assert fields["lease_seconds"]["description"].endswith("Default: 60.")


@pytest.mark.parametrize(
    ("output", "error"), list(itertools.product([ABSENT, None, {"paid": 1}], [ABSENT, None, "no money"]))
)
def test_the_schema_of_a_result_takes_what_the_server_takes(output, error):
    body = {"input_digest": DIGEST} | {
        name: value for name, value in (("output", output), ("error", error)) if value is not ABSENT
    }
    asker, decider = Machine(alice()), Machine(bob())
    asked = asker.ask()
    digest = decider.decide(asked, "approve").body["decision"]["approved_digest"]
    status = asker.post(f"/requests/{asked['id']}/result", body | {"input_digest": digest}).status
    assert of_body("NewResult").is_valid(body) == (status == 201)
    assert status in (201, 422)
    assert set(NewResult.model_fields) == {"input_digest", "output", "error"}


FORM = {"kind": "form", "title": "Which size?"}
DEADLINE = "2099-12-01T12:00:00Z"


@pytest.mark.parametrize(
    "body",
    [
        FORM,
        FORM | {"response_schema": None},
        FORM | {"response_schema": {"type": "object"}},
        APPROVAL | {"timeout": 1000, "deadline": DEADLINE},
        APPROVAL | {"timeout": 0, "deadline": DEADLINE},
        APPROVAL | {"timeout": 1000, "deadline": None},
        APPROVAL | {"timeout": 1000.0},
        APPROVAL | {"timeout": 1000.5},
        APPROVAL | {"timeout": True},
        APPROVAL | {"callback_url": "https://example.com"},
        APPROVAL | {"callback_url": "https://example.com/a@b?c=d@e"},
        APPROVAL | {"callback_url": "https://example.com?a=b"},
        APPROVAL | {"callback_url": "https://user:secret@example.com/"},
        APPROVAL | {"callback_url": "ftp://example.com/"},
        APPROVAL | {"callback_url": "https:///path"},
    ],
)
def test_the_schema_of_a_request_takes_what_the_server_takes(body):
    status = Machine(alice()).post("/requests", body).status
    assert of_body("NewRequest").is_valid(body) == (status == 201)
    assert status in (201, 422)


def test_a_cursor_has_the_pattern_of_the_document():
    machine = Machine(alice())
    for number in range(2):
        machine.ask(tool_call_id=f"c{number}")
    (cursor,) = [
        each["schema"]
        for each in schema()["paths"]["/api/v1/requests"]["get"]["parameters"]
        if each["name"] == "cursor"
    ]
    assert Draft202012Validator(cursor).is_valid(machine.get("/requests?limit=1").body["next"])
    assert not Draft202012Validator(cursor).is_valid("nonsense")


def test_whole_numbers_may_have_a_point():
    asker, decider = Machine(alice()), Machine(bob())
    asked = asker.ask()
    decider.decide(asked, "approve")
    taken = asker.post(f"/requests/{asked['id']}/resume", {"lease_seconds": 615.0})
    assert (taken.status, of_body("NewTake").is_valid({"lease_seconds": 615.0})) == (200, True)
    assert asker.post(f"/requests/{asked['id']}/resume", {"lease_seconds": 615.5}).refusal == (422, "invalid")
    again = asker.post("/requests", APPROVAL | {"tool_call_id": "c", "timeout": 60_000})
    replayed = asker.post("/requests", APPROVAL | {"tool_call_id": "c", "timeout": 60_000.0})
    assert (again.status, replayed.status, replayed.replayed) == (201, 200, True)
