"""Pages name the rule that a request was asked under or decided by, and show the rule's text first."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.administration.tools.actions import store_tool_settings
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.models.subscriptions import NotificationRule
from approvals.outbound import notifications
from approvals.pages.bulk import BulkOutcome, compare_by_tool
from approvals.states import Door, Route, Verdict
from tests.approvals.actions.policy.granting import ask
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

VALUE = {"amount": 120, "order": "4711", "iban": "DE02"}
ASK = {
    "name": "Refunds <b>",
    "match": {"tools": ["refund"]},
    "then": "ask",
    "message": "Look at the contract.",
    "ask": {"key_fields": ["/iban"], "channels": ["slack"]},
}


def words(client: Client, address: str) -> str:
    page = client.get(address).content.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(bob())
    return client


def test_a_request_shows_its_rule_its_message_and_its_key_fields(client):
    version = apply_policy(ASK).number
    request = ask(alice(), VALUE)
    text = words(client, request.get_absolute_url())
    assert f"rule “Refunds <b>” v{version}" in text
    assert "Look at the contract." in text
    page = client.get(request.get_absolute_url()).content.decode()
    [first] = re.findall(r'<dl class="key-values".*?</dl>', page, re.DOTALL)
    assert ("DE02" in first, "4711" in first) == (True, False)
    assert "iban DE02" in words(client, "/")


def test_what_a_rule_has_decided_says_so(client):
    apply_policy({"name": "Small", "then": "allow"})
    request = ask(alice(), VALUE)
    assert "by rule “Small”, version 1" in words(client, request.get_absolute_url())
    assert "by rule “Small”, version 1" in words(client, f"{request.get_absolute_url()}record/")
    assert "Approved by rule “Small”" in words(client, "/?status=decided")


def test_a_request_that_expired_says_that_the_run_was_stopped(client):
    apply_policy({"name": "Stop", "then": "ask", "ask": {"deadline": {"after": 600, "then": "halt"}}})
    request = ask(alice(), VALUE)
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=timezone.now() - timedelta(seconds=1))
    sweep.run_once()
    assert "The run was stopped." in words(client, request.get_absolute_url())


def test_an_earlier_decision_of_a_rule_names_it(client):
    apply_policy({"name": "Small", "match": {"priorities": ["low"]}, "then": "allow"})
    asker = alice()
    ask(asker, VALUE, priority="low")
    assert "by rule “Small”, version 1" in words(client, ask(asker, VALUE).get_absolute_url())


def test_a_repeated_rejection_leads_to_the_earlier_request(client):
    apply_policy(repeat_rejections=True)
    asker, decider = alice(), User.objects.get(username="bob")
    first = ask(asker, VALUE)
    actions.decide(first.pk, Answer(Verdict.REJECT, comment="No."), by=decider, via=Door.DASHBOARD)
    again = ask(asker, VALUE)
    for path in (again.get_absolute_url(), f"{again.get_absolute_url()}record/"):
        page = client.get(path)
        assert f'<a href="{first.get_absolute_url()}">as the same call before</a>' in page.content.decode(), path
    assert "Rejected as before" in words(client, "/?status=decided")
    client.force_login(make_person("ann", "view_auditentry", "view_approvalrequest"))
    assert "Rejected as before" in words(client, "/audit/")


def test_people_are_notified_by_the_ways_that_the_rule_names(client, settings):
    settings.HITL_MAIL = True
    person = bob_with_mail()
    NotificationRule.objects.create(person=person, route=Route.MAIL)
    NotificationRule.objects.create(person=person, route=Route.SLACK, slack_url="https://hooks.example.org/1")
    apply_policy(ASK)
    asker = alice()
    ask(asker)
    ask(asker, tool="other")
    notifications.spread_due_notices()
    rows = [(row.channel, row.payload["tool_name"]) for row in OutboxEvent.objects.exclude(channel="notice")]
    assert sorted(rows) == [("mail", "other"), ("slack", "other"), ("slack", "refund")]


def bob_with_mail():
    person = User.objects.get(username="bob")
    person.email = "bob@example.org"
    person.save()
    return person


def test_a_bulk_decision_shows_the_key_fields_of_the_rules_first(client):
    apply_policy(ASK)
    asker = alice()
    store_tool_settings("refund", {"key_fields": ["/order"]}, by=administrator())
    asked = [ask(asker, VALUE), ask(asker, VALUE | {"amount": 7})]
    apply_policy()
    steps = [BulkOutcome(request, "") for request in (*asked, ask(asker, VALUE))]
    assert [compare_by_tool(some)[0].columns for some in (steps[:2], steps)] == [
        ["iban", "amount"],
        ["iban", "order", "amount"],
    ]


def test_a_request_shows_every_rule_that_could_match_with_its_message_and_key_fields(client):
    small = {"name": "Small <i>", "when": "input.missing < 50", "then": "allow", "message": "Is it small?"}
    version = apply_policy(small, ASK).number
    request = ask(alice(), VALUE)
    text = words(client, request.get_absolute_url())
    assert f"rule “Small <i>” v{version}" in text
    assert "These could match too, and their terms hold as well: “Refunds <b>”" in text
    assert ("Is it small?" in text, "Look at the contract." in text) == (True, True)
    page = client.get(request.get_absolute_url()).content.decode()
    [first] = re.findall(r'<dl class="key-values".*?</dl>', page, re.DOTALL)
    assert ("DE02" in first, "4711" in first) == (True, False)
    assert "iban DE02" in words(client, "/")
