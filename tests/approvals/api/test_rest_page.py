"""The API's documentation page and OpenAPI document: every operation and field, under the strict policy."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from approvals.api.rest.documents import NewRequest
from approvals.api.rest.openapi import operations
from approvals.api.rest.urls import schema
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import bob

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
    assert len(listed) == 14
    assert {f"{one['method']} {one['path']}" for one in listed} - shown == set()
    assert set(NewRequest.model_fields) - shown == set()


def test_the_page_works_under_the_content_security_policy():
    html = parse(page())
    ours = ("/static/", "/words.js")
    assert [one for one in html.find("script") if not one.attributes.get("src", "").startswith(ours)] == []
    assert [one for one in html.find("link") if not one.attributes["href"].startswith("/static/")] == []
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
        "claim_request",
        "release_request",
        "assign_request",
        "list_comments",
        "create_comment",
        "get_workflow",
        "end_workflow",
        "list_entries",
    ]


def test_the_document_describes_the_messages_of_a_conversation():
    shown = schema()["components"]["schemas"]
    messages = shown["NewRequest"]["properties"]["messages"]["items"]["$ref"].rpartition("/")[2]
    assert set(shown[messages]["properties"]) == {"role", "text"}
