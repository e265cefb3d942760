"""The API's documentation page and OpenAPI document: every operation and field, under the strict policy."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from approvals.api.requests import NewRequest
from approvals.api.rest.openapi import operations
from approvals.api.rest.urls import schema
from approvals.db.canonical_json import utc
from approvals.models import Grant
from tests.support.desk.ruling import administrator as administrator_of_policy
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def page():
    client = Client()
    client.force_login(bob())
    response = client.get("/api/v1/")
    assert (response.status_code, response["Content-Type"]) == (200, "text/html; charset=utf-8")
    return response.content.decode()


def test_the_page_lists_every_operation_and_every_field():
    html = parse(page())
    shown = {one.words for one in html.find("code")}
    listed = operations(schema())
    assert len(listed) == 33
    assert {f"{one['method']} {one['path']}" for one in listed} - shown == set()
    assert set(NewRequest.model_fields) - shown == set()


def test_the_page_works_under_the_content_security_policy():
    html = parse(page())
    ours = ("/static/", "/words.js", "/manifest.webmanifest")
    assert [one for one in html.find("script") if not one.attributes.get("src", "").startswith(ours)] == []
    # Addresses with a fragment name a part of the page.
    assert [one for one in html.find("link") if not one.attributes["href"].startswith((*ours, "#"))] == []
    assert html.find("style") == []


def test_the_openapi_document_has_the_same_operations():
    document = Machine(bob()).get("/openapi.json").body
    assert document == json.loads(json.dumps(schema()))
    assert document["openapi"] == "3.1.0"
    assert sorted(document["components"]["securitySchemes"]) == ["Bearer"]


def test_every_operation_documents_how_it_refuses():
    missing = [
        one["id"] for one in operations(schema()) if not {"401", "403", "422"} <= {n for n, _ in one["statuses"]}
    ]
    assert missing == []


def test_operations_have_descriptive_names():
    assert [one["id"] for one in operations(schema())] == [
        "create_request",
        "list_requests",
        "get_request",
        "decide_request",
        "cancel_request",
        "report_result",
        "read_attachment",
        "take_resume",
        "renew_resume",
        "release_resume",
        "complete_resume",
        "claim_request",
        "release_request",
        "assign_request",
        "list_comments",
        "create_comment",
        "create_advice",
        "list_grants",
        "get_grant",
        "revoke_grant",
        "list_scopes",
        "get_scope",
        "get_policy",
        "list_policy_versions",
        "get_policy_version",
        "evaluate_policy",
        "set_on_duty",
        "list_absences",
        "create_absence",
        "end_absence",
        "get_workflow",
        "end_workflow",
        "list_entries",
    ]


def test_the_document_describes_the_messages_of_a_conversation():
    shown = schema()["components"]["schemas"]
    messages = shown["NewRequest"]["properties"]["messages"]["items"]["$ref"].rpartition("/")[2]
    assert set(shown[messages]["properties"]) == {"role", "text"}


def test_a_browser_logs_in_first_and_a_program_gets_a_problem():
    found = {
        accept: (answer.status_code, answer.headers.get("Location", answer.headers["Content-Type"]))
        for accept in ("text/html,application/xhtml+xml,*/*;q=0.8", "*/*", "application/json")
        for answer in [Client().get("/api/v1/", headers={"Accept": accept})]
    }
    assert found == {
        "text/html,application/xhtml+xml,*/*;q=0.8": (302, "/login/?next=/api/v1/"),
        "*/*": (401, "application/problem+json"),
        "application/json": (401, "application/problem+json"),
    }


def test_the_examples_of_the_page_work():
    """Each body is sent as it stands, in an order in which each call is allowed."""
    asker, decider = Machine(alice()), Machine(bob())
    shown = {one["id"]: one for one in operations(schema())}
    asked = asker.post("/requests", json.loads(shown["create_request"]["body"])).body
    statuses = {}

    def send(machine: Machine, name: str, **changes: str) -> dict:
        path = shown[name]["path"].removeprefix("/api/v1")
        path = path.format(request_id=asked["id"], workflow_id=asked["workflow_id"], grant_id=grant, absence_id=absence)
        answer = machine.post(path, json.loads(shown[name]["body"]) | changes)
        statuses[name] = answer.status
        return answer.body

    grant = absence = ""
    for name in ("claim_request", "release_request", "assign_request", "create_comment", "create_advice"):
        send(decider, name)
    digest = send(decider, "decide_request")["decision"]["approved_digest"]
    send(asker, "report_result", input_digest=digest)
    token = send(asker, "take_resume")["token"]
    for name in ("renew_resume", "release_resume"):
        send(asker, name, token=token)
    send(asker, "complete_resume", token=send(asker, "take_resume")["token"])
    send(asker, "end_workflow")
    asked = asker.ask()
    send(asker, "cancel_request")
    decider.decide(asker.ask(agent="billing"), "approve", grant={"covers": "input", "audience": "agent", "uses": 1})
    grant = str(Grant.objects.get().pk)
    send(decider, "revoke_grant")
    administrator, until = Machine(make_person("adam", "administer")), utc(timezone.now() + timedelta(days=1))
    make_person("carol", "decide_approvalrequest")
    Group.objects.create(name="finance").user_set.add(decider.key.user)
    send(administrator, "set_on_duty", until=until)
    absence = send(decider, "create_absence", until=until)["id"]
    send(decider, "end_absence")
    send(Machine(administrator_of_policy()), "evaluate_policy")
    assert statuses == {
        "claim_request": 200, "release_request": 200, "assign_request": 200, "create_comment": 201,
        "create_advice": 201,
        "decide_request": 200, "report_result": 201, "end_workflow": 200, "cancel_request": 200,
        "revoke_grant": 200, "take_resume": 200, "renew_resume": 200, "release_resume": 200, "complete_resume": 200,
        "evaluate_policy": 200,
        "set_on_duty": 200, "create_absence": 201, "end_absence": 200,
    }  # fmt: skip
    assert set(statuses) | {"create_request"} == {name for name, one in shown.items() if one["body"] is not None}


def test_an_example_names_ids_and_quotes_its_body():
    one = next(one for one in operations(schema(), "https://desk.example") if one["id"] == "decide_request")
    assert one["curl"] == (
        'curl -X POST "https://desk.example/api/v1/requests/$REQUEST_ID/decision" \\\n'
        '  -H "Authorization: Bearer $PAUSEPOINT_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        """  -d '{"verdict": "approve", "comment": "Refund it, and say sorry."}'"""
    )
    compile(one["python"], "example", "exec")
    assert 'f"https://desk.example/api/v1/requests/{request_id}/decision"' in one["python"]


def test_every_parameter_and_field_has_a_description():
    shown = operations(schema())
    assert [
        f"{one['id']} {field['name']}"
        for one in shown
        for field in [*one["parameters"], *one["fields"]]
        if not field["description"] and field.get("place") != "path"
    ] == []
