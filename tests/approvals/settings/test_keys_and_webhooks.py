"""Administration of API keys, webhooks, notification rules and tools, and the checklist of the first run."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.actions.administration import store_tool_settings
from approvals.models import AuditEntry, OutboxEvent, ToolSettings
from approvals.models.keys import ApiKey
from approvals.models.subscriptions import NotificationRule, SigningSecret, WebhookEndpoint
from approvals.states import Kind, Priority
from tests.approvals.settings.test_administration import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

HOOK = {
    "name": "billing",
    "url": "https://billing.example.org/?token=secret",
    "events": ["request.decided"],
    "active": "on",
}


def changes(event: str) -> list[str]:
    return [entry.data["change"] for entry in AuditEntry.objects.filter(event=event).order_by("pk")]


def test_a_key_is_shown_once_works_and_is_revoked():
    alice()
    client = browser(administrator())
    sent = {"name": "billing agent", "user": "alice", "scopes": ["ask", "read"], "lifetime": "30"}
    made = client.post("/settings/keys/", sent)
    text = parse(made.text).find("pre")[0].words
    key = ApiKey.objects.get()
    lifetime = key.expires_at - key.created_at
    assert (key.user.username, key.scopes, round(lifetime.total_seconds() / 86400)) == ("alice", ["ask", "read"], 30)
    assert made.headers["Cache-Control"] == "private, no-store"
    machine = Machine(authorization=f"Bearer {text}")
    assert machine.ask()["status"] == "pending"
    listed = client.get("/settings/keys/").text
    assert (text in listed, key.prefix in listed) == (False, True)
    assert client.post(f"/settings/keys/{key.pk}/revoke/").status_code == 302
    assert machine.get("/requests").refusal == (401, "not_authenticated")
    assert client.post(f"/settings/keys/{key.pk}/revoke/").status_code == 404


def test_the_lists_of_a_key_are_changed_on_its_page_and_on_record():
    key = Machine(alice()).key
    client, own = browser(administrator()), f"/settings/keys/{key.pk}/"
    shown = [one.words for one in parse(client.get(own).text).find("textarea")]
    assert (shown[0], "Read" in shown[1].split(), shown[2]) == ("*", True, "")
    sent = {"gated": "Bash\r\n mcp__* \r\n\r\nBash", "allowed": "", "denied": "WebFetch"}
    assert client.post(own, sent).status_code == 302
    key.refresh_from_db()
    assert key.tool_lists == {"gated": ["Bash", "mcp__*"], "allowed": [], "denied": ["WebFetch"]}
    wrong = [{"denied": "rm -rf"}, {"gated": "ä"}, {"allowed": "\n".join(map(str, range(101)))}, {"gated": "x" * 101}]
    assert [client.post(own, sent | one).status_code for one in wrong] == [422] * 4
    entry = AuditEntry.objects.get(event="key.changed")
    assert (entry.data["tool_lists"], entry.via) == (key.tool_lists, "dashboard")
    others = [browser(bob()), browser(key.user)]
    assert [one.get(own).status_code for one in others] + [one.post(own, sent).status_code for one in others] == [
        404
    ] * 4
    client.post(f"{own}revoke/")
    assert [client.get(own).status_code, client.post(own, sent).status_code] == [404, 404]


@pytest.mark.parametrize(
    "wrong", [{"user": "nobody"}, {"scopes": []}, {"scopes": ["root"]}, {"name": ""}, {"lifetime": "9"}]
)
def test_a_wrong_key_form_is_refused_and_makes_nothing(wrong):
    sent = {"name": "agent", "user": "dora", "scopes": ["ask"], "lifetime": ""} | wrong
    refused = browser(administrator()).post("/settings/keys/", sent)
    assert (refused.status_code, ApiKey.objects.count()) == (422, 0)


def test_a_webhook_gets_a_secret_that_is_shown_once_and_can_be_rotated_and_removed():
    client = browser(administrator())
    secret = parse(client.post("/settings/webhooks/", HOOK).text).find("pre")[0].words
    hook = WebhookEndpoint.objects.get()
    own = f"/settings/webhooks/{hook.pk}/"
    assert (secret.startswith("whsec_"), secret in client.get(own).text) == (True, False)
    assert client.post(own, HOOK | {"name": "books", "active": ""}).status_code == 302
    assert client.post(own, HOOK | {"url": "http://127.0.0.1/"}).status_code == 422
    other = parse(client.post(f"{own}secret/").text).find("pre")[0].words
    assert (other != secret, SigningSecret.objects.count()) == (True, 2)
    hook.refresh_from_db()
    assert (hook.name, hook.active) == ("books", False)
    assert client.post(f"{own}remove/").status_code == 302
    assert (WebhookEndpoint.objects.count(), client.get(own).status_code) == (0, 404)
    assert changes("webhook.changed") == ["created", "changed", "secret rotated", "removed"]
    assert [entry for entry in AuditEntry.objects.all() if "token=secret" in entry.body] == []


def test_deliveries_of_a_webhook_are_listed_and_sent_again_by_one_who_may():
    client = browser(administrator())
    client.post("/settings/webhooks/", HOOK | {"events": ["request.created"]})
    hook = WebhookEndpoint.objects.get()
    make_request(alice())
    event = OutboxEvent.objects.get()
    OutboxEvent.objects.update(delivered_at=event.created_at, attempts=1)
    own = f"/settings/webhooks/{hook.pk}/"
    assert [one.words for one in parse(client.get(own).text).find("td")[0].find("code")] == ["request.created"]
    assert client.post(f"{own}resend/{event.pk}/").status_code == 302
    assert OutboxEvent.objects.get().delivered_at is None
    assert client.post(f"/settings/webhooks/{hook.pk}/resend/{event.pk + 1}/").status_code == 404
    assert AuditEntry.objects.get(event="event.resent").via == "dashboard"


@pytest.mark.parametrize("rows", [2, 40])
def test_a_page_of_deliveries_costs_the_same_however_many_there_are(rows):
    client = browser(administrator())
    client.post("/settings/webhooks/", HOOK | {"events": ["request.created"]})
    owner = alice()
    for _ in range(rows):
        make_request(owner)
    with CaptureQueriesContext(connection) as found:
        client.get(f"/settings/webhooks/{WebhookEndpoint.objects.get().pk}/")
    assert len(found) <= 10


def test_a_notification_rule_is_for_a_person_or_a_team_and_is_on_record(settings):
    settings.HITL_MAIL = True
    bob()
    client = browser(administrator())
    rule = {
        "person": "bob",
        "group": "",
        "route": "mail",
        "min_priority": "high",
        "tool_name": "refund",
        "active": "on",
    }
    assert client.post("/settings/rules/", rule).status_code == 302
    stored = NotificationRule.objects.get()
    assert (stored.person.username, stored.min_priority) == ("bob", "high")
    team = Group.objects.create(name="Payments")
    refused = [rule | {"person": "nobody"}, rule | {"group": str(team.pk)}, rule | {"person": ""}]
    assert [client.post("/settings/rules/", sent).status_code for sent in refused] == [422] * 3
    own = f"/settings/rules/{stored.pk}/"
    NotificationRule.objects.update(tool_name="")
    User.objects.filter(username="bob").update(email="bob@example.org")
    seen = [client, browser(User.objects.get(username="bob"))]
    pages = [one.get(path) for one, path in zip(seen, ("/settings/rules/", "/settings/notifications/"), strict=True)]
    assert [(page.status_code, "all tools" in page.text) for page in pages] == [(200, True)] * 2
    assert client.post(own, rule | {"person": "", "group": str(team.pk)}).status_code == 302
    assert client.post(f"{own}remove/").status_code == 302
    assert changes("rule.changed") == ["created", "changed", "removed"]


def test_tools_that_have_asked_are_listed_with_the_fields_of_their_last_request():
    make_request(alice(), tool_name="refund", input={"amount": 5, "customer": {"a/b": "Zoë"}, "items": [{"sku": "x"}]})
    client = browser(administrator())
    listed = parse(client.get("/settings/tools/").text).find("a", class_="row-title")
    assert "refund" in [one.words for one in listed]
    page = parse(client.get("/settings/tools/refund/").text)
    offered = [one.attributes["data-pointer"] for one in page.find("button") if "data-pointer" in one.attributes]
    assert offered == ["/amount", "/customer/a~1b", "/items/0/sku"]
    assert client.get("/settings/tools/never-asked/").status_code == 404


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
    chosen = {"key_fields": [], "reason_required": False, "min_priority": "high", "prepared_answers": []}
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


def test_the_checklist_ticks_itself_off_and_can_be_hidden():
    client = browser(administrator())

    def done() -> list[str]:
        page = parse(client.get("/settings/first-run/").text)
        return [one.attributes["id"][10:] for one in page.find("span", class_="step-done")]

    steps = [done()]
    bob()
    steps.append(done())
    machine = Machine(alice())
    steps.append(done())
    machine.ask()
    steps.append(done())
    assert steps == [[], ["approver"], ["approver", "key"], ["approver", "key", "asked"]]
    assert client.post("/settings/first-run/dismiss/").status_code == 302
    hidden = client.get("/settings/first-run/")
    assert (hidden.status_code, hidden.text) == (286, "")
