"""The pages of tools."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.administration.tools.actions import store_tool_settings
from approvals.models import AuditEntry, ToolSettings
from approvals.states import Kind, Priority
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import make_team
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db


def test_tools_that_have_asked_are_listed_with_the_fields_of_their_last_request():
    make_request(alice(), tool_name="refund", input={"amount": 5, "customer": {"a/b": "Zoë"}, "items": [{"sku": "x"}]})
    client = browser(administrator())
    listed = parse(client.get("/settings/tools/").text).find("a", class_="row-title")
    assert "refund" in [one.words for one in listed]
    page = parse(client.get("/settings/tools/refund/").text)
    offered = [one.attributes["data-pointer"] for one in page.find("button") if "data-pointer" in one.attributes]
    assert offered == ["/amount", "/customer/a~1b", "/items/0/sku"]
    assert client.get("/settings/tools/never-asked/").status_code == 404
    page = parse(client.get("/settings/tools/?q=REF").text)
    assert [link.words for link in page.find("a", class_="row-title")][:1] == ["refund"]
    assert "No tool has this name." in client.get("/settings/tools/?q=nothing%00").text


def test_settings_of_a_tool_are_stored_in_order_and_checked():
    make_request(alice(), tool_name="files/delete")
    client, own = browser(administrator()), "/settings/tools/files/delete/"
    sent = {
        "key_fields": "/b\n/a\n\n/b\n",
        "min_priority": "high",
        "reason_required": "on",
        "prepared_answers": "No.\nWait.",
    }
    assert client.post(own, sent).status_code == 302
    stored = ToolSettings.objects.get()
    assert (stored.key_fields, stored.reason_required, stored.prepared_answers) == (
        ["/b", "/a"],
        True,
        ["No.", "Wait."],
    )
    wrong = [{"key_fields": "amount"}, {"key_fields": "/x\n" + "\n".join(f"/{n}" for n in range(12))}]
    wrong += [{"min_priority": "urgent"}, {"prepared_answers": "x" * 5001}]
    assert [client.post(own, sent | one).status_code for one in wrong] == [422] * 4
    assert AuditEntry.objects.get(event="tool.changed").tool_name == "files/delete"


def test_requests_of_a_tool_get_at_least_its_priority():
    root = User.objects.create_superuser("root")
    chosen = {
        "secret_fields": [],
        "key_fields": [],
        "reason_required": False,
        "min_priority": "high",
        "prepared_answers": [],
    }
    store_tool_settings("refund", chosen, by=root)
    asked = {
        (priority, tool): make_request(root, Kind.APPROVAL, tool_name=tool, priority=priority)
        for priority in (Priority.LOW, Priority.CRITICAL)
        for tool in ("refund", "other")
    }
    assert {key: (made.priority, made.workflow.urgency) for key, made in asked.items()} == {
        ("low", "refund"): ("high", 1),
        ("low", "other"): ("low", 3),
        ("critical", "refund"): ("critical", 0),
        ("critical", "other"): ("critical", 0),
    }
    machine = Machine(root)
    assert [machine.ask(tool_name=tool)["priority"] for tool in ("refund", "other")] == ["high", "normal"]


def test_the_page_of_a_tool_says_who_decides_by_the_policy():
    make_request(alice(), tool_name="refund")
    make_team("finance")
    asks = {"ask": {"stages": [{"groups": [{"teams": ["finance"]}]}]}, "then": "ask"}
    rules = [
        {"name": "Refunds", "match": {"tools": ["refund*"]}, **asks},
        {"name": "Mails", "match": {"tools": ["mail"]}, "then": "deny"},
        {"name": "Questions", "match": {"kinds": ["question"]}, "then": "ask"},
        {"name": "The rest", "then": "allow"},
    ]
    version = apply_policy(*rules).number
    (section,) = parse(browser(administrator()).get("/settings/tools/refund/").text).find(
        "section", aria_labelledby="scopes"
    )
    assert f"In version {version} of the policy, these rules could match its requests" in section.words
    assert [one.words.partition(":")[0] for one in section.find("li")] == ["Refunds", "The rest"]
    assert "Needs the approval of one of finance." in section.words
