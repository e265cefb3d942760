"""Names that no database can store are refused on every database and cause no server error."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.machines import Machine, machine
from tests.support.people import bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def program() -> Machine:
    return machine(bob(), "ask", "decide", "read")


@pytest.mark.parametrize("path", ["/api/chat/%00", "/api/chat/a%00b/stream", "/api/v1/workflows/%00"])
def test_an_impossible_name_is_not_found(program, path):
    answer = program.get(path)
    assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/chat/%00/stop"), ("POST", "/api/v1/workflows/%00/end"), ("DELETE", "/api/chat/%00")],
)
def test_an_impossible_name_is_not_changed(program, method, path):
    assert 400 <= program.call(method, path, {"outcome": "completed"}).status < 500


@pytest.mark.parametrize(
    "path",
    [
        *(f"/api/v1/requests?{name}=a%00b" for name in ("tool", "workflow", "thread", "text", "cursor")),
        *(f"/api/v1/audit?{name}=a%00b" for name in ("event", "scope", "workflow", "thread", "tool_call_id", "person")),
        "/api/v1/workflows/w?scope=a%00b",
        "/api/v1/events?thread=a%00b&after=nonsense",
    ],
)
def test_an_impossible_name_is_not_queried(path):
    person = make_person("dora", "decide_approvalrequest", "view_approvalrequest", "view_auditentry")
    answer = machine(person, "read", "audit").get(path)
    assert 400 <= answer.status < 500, answer.text


def test_impossible_names_on_pages_and_in_log_ins_cause_no_error():
    browser = Client()
    assert browser.post("/login/", {"username": "a\0", "password": "\0"}).status_code == 200
    for key in ("a\0b", "aaaaaaaa\0", "ä" * 32, "a" * 5_000):
        browser.cookies["sessionid"] = key
        assert browser.get("/").status_code == 302
