"""The admin of webhooks, their secrets, notification rules and dead events."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from approvals.administration.keys.actions import create_key
from approvals.models import AuditEntry, OutboxEvent
from approvals.models.subscriptions import NotificationRule, WebhookEndpoint
from approvals.outbound import webhooks
from approvals.outbound.outbox import EVENTS
from hitlsite.middleware import POLICY
from tests.support import people
from tests.support.desk.carrying import carry, later, make_endpoint, make_key, states, workflow_of
from tests.support.desk.requests import decide, make_request
from tests.support.markup import inline_code
from tests.support.receiver import Receiver, answer

pytestmark = pytest.mark.django_db(transaction=True)

ENDPOINTS, RULES, KEYS, OUTBOX = (
    f"/admin/approvals/{name}/" for name in ("webhookendpoint", "notificationrule", "apikey", "outboxevent")
)
FORM = {"name": "billing", "url": "https://app.example.org/hooks", "events": ["request.decided"], "active": "on"}


@pytest.fixture
def root() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password=people.PASSWORD))
    return client


def staff(*permissions: str) -> Client:
    person = people.make_person("ed", *permissions)
    person.is_staff = True
    person.save()
    client = Client()
    client.force_login(person)
    return client


def shown_secret(page: str) -> str:
    (found,) = re.findall(r"<code>(whsec_[A-Za-z0-9+/=]{44})</code>", page)
    return found


def test_new_endpoint_shows_its_secret_once(root):
    response = root.post(f"{ENDPOINTS}add/", FORM)
    endpoint = WebhookEndpoint.objects.get()
    secret = shown_secret(response.content.decode())
    assert (endpoint.events, endpoint.include_payload, endpoint.active) == (["request.decided"], False, True)
    assert webhooks.secrets_of(endpoint) == [secret]
    assert "no-store" in response["Cache-Control"]
    pages = [root.get(address).content.decode() for address in (ENDPOINTS, f"{ENDPOINTS}{endpoint.pk}/change/")]
    assert [secret in page for page in pages] == [False, False]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "http://app.example.org/"}, "must start with https://"),
        ({"url": "https://127.0.0.1/"}, "which is in a private network"),
        ({"url": "https://169.254.169.254/"}, "which Pausepoint never calls"),
        ({"url": "javascript:alert(1)"}, "must be a URL such as"),
        ({"events": []}, "This field is required"),
        ({"events": ["request.made_up"]}, "is not one of the available choices"),
    ],
)
def test_invalid_endpoint_is_refused(root, changes, words):
    page = root.post(f"{ENDPOINTS}add/", FORM | changes).content.decode()
    assert (words in page, WebhookEndpoint.objects.count()) == (True, 0)


def test_every_event_can_be_chosen_and_stays_chosen(root):
    root.post(f"{ENDPOINTS}add/", FORM | {"events": list(EVENTS)})
    endpoint = WebhookEndpoint.objects.get()
    assert endpoint.events == list(EVENTS)
    page = root.get(f"{ENDPOINTS}{endpoint.pk}/change/").content.decode()
    assert page.count("checked") == len(EVENTS) + 1
    root.post(f"{ENDPOINTS}{endpoint.pk}/change/", FORM | {"include_payload": "on"})
    endpoint.refresh_from_db()
    assert (endpoint.events, endpoint.include_payload) == (["request.decided"], True)


@pytest.mark.parametrize("make", [lambda: make_endpoint("https://app.example.org/"), lambda: make_key(people.alice())])
def test_secret_is_rotated_in_two_recorded_steps(root, make):
    owner, first = make()
    address = KEYS if hasattr(owner, "prefix") else ENDPOINTS
    response = root.post(address, {"action": "new_webhook_secret", "_selected_action": [owner.pk]})
    second = shown_secret(response.content.decode())
    assert (webhooks.secrets_of(owner), response["Content-Security-Policy"]) == ([second, first], POLICY)
    assert inline_code(response.content.decode()) == []
    root.post(address, {"action": "end_old_webhook_secrets", "_selected_action": [owner.pk]})
    assert webhooks.secrets_of(owner) == [second]
    told = [entry.change_message for entry in LogEntry.objects.order_by("pk")]
    assert told == ["Created a new webhook secret.", "Revoked old webhook secrets."]


@pytest.mark.parametrize("page", ["change", "delete"])
def test_an_endpoint_that_another_administrator_removes_meanwhile_is_not_found(root, page):
    endpoint, _ = make_endpoint(FORM["url"])
    read = []

    def remove_after_first_read(execute, sql, params, many, context):
        if (
            sql.startswith("SELECT")
            and 'FROM "approvals_webhookendpoint"' in sql
            and not read.append(sql)
            and len(read) == 2
        ):
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM approvals_webhookendpoint")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(remove_after_first_read):
        response = root.post(f"{ENDPOINTS}{endpoint.pk}/{page}/", FORM | {"post": "yes"})
    assert (len(read), response.status_code) == (2, 404)


def test_page_never_shows_two_secrets(root):
    pair = [make_endpoint("https://app.example.org/")[0].pk for _ in range(2)]
    page = root.post(
        ENDPOINTS, {"action": "new_webhook_secret", "_selected_action": pair}, follow=True
    ).content.decode()
    assert ("Select exactly one item." in page, "whsec_" in page) == (True, False)


def test_readers_get_no_secret():
    client = staff("view_webhookendpoint", "view_apikey")
    (endpoint, first), (key, second) = make_endpoint("https://app.example.org/"), make_key(people.alice())
    for address, owner in ((ENDPOINTS, endpoint), (KEYS, key)):
        response = client.post(address, {"action": "new_webhook_secret", "_selected_action": [owner.pk]}, follow=True)
        assert "whsec_" not in response.content.decode()
    assert (webhooks.secrets_of(endpoint), webhooks.secrets_of(key)) == ([first], [second])
    assert client.post(f"{ENDPOINTS}add/", FORM).status_code == 403


def test_dead_events_are_listed_and_sent_again_with_the_same_id(root, settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Receiver(lambda got: answer(500)) as there:
        key, secret = make_key(people.alice())
        request = make_request(key.user, workflow=workflow_of(key), callback_url=there.url("/done?token=t0p"))
        decide(request, people.bob(), "approve")
        OutboxEvent.objects.update(created_at="2026-01-01T00:00:00Z")
        carry()
        row = OutboxEvent.objects.get()
        assert states() == [("request.decided", False, True, "answered 500")]
        page = root.get(f"{OUTBOX}?dead_at__isempty=0").content.decode()
        assert ("answered 500" in page, "1 outbox event" in page) == (True, True)
        root.post(OUTBOX, {"action": "send_again", "_selected_action": [row.pk]})
        carry()
        # A dead event is tried for three more days.
        assert states() == [("request.decided", False, False, "answered 500")]
        there.behave = lambda got: answer(200)
        later()
        carry()
    assert states() == [("request.decided", True, False, "")]
    assert {got.id for got in there.got} == {str(row.event_id)}
    assert there.got[-1].told(secret)["timestamp"] == "2026-01-01T00:00:00.000000Z"
    entry = AuditEntry.objects.get(event="event.resent")
    assert (entry.scope, entry.run_id, entry.request_id, entry.actor_name, entry.via) == (
        f"key:{key.pk}",
        "run-1",
        request.pk,
        "root",
        "admin",
    )
    told = {"event_id": str(row.event_id), "event": "request.decided", "target": f"callback:{there.url('/done')}"}
    assert entry.data == told


def test_readers_cannot_send_events_again():
    client = staff("view_outboxevent")
    make_endpoint("https://app.example.org/")
    make_request(people.alice())
    client.post(OUTBOX, {"action": "send_again", "_selected_action": [OutboxEvent.objects.get().pk]})
    assert AuditEntry.objects.filter(event="event.resent").count() == 0


def test_notification_rule_is_created_and_validated(root, settings):
    bob = people.bob()
    form = {
        "person": bob.pk,
        "route": "mail",
        "shows": "input",
        "min_priority": "high",
        "tool_name": "",
        "active": "on",
    }
    assert root.post(f"{RULES}add/", form).status_code == 302
    assert NotificationRule.objects.values_list("person", "route", "min_priority").get() == (bob.pk, "mail", "high")
    refusals = {
        "Choose a person or a group": form | {"person": ""},
        "Enter the Slack address": form | {"route": "slack"},
        "Remove the Slack address": form | {"slack_url": "https://hooks.slack.example/x"},
        "which is in a private network": form | {"route": "slack", "slack_url": "https://10.0.0.1/"},
    }
    assert [words in root.post(f"{RULES}add/", sent).content.decode() for words, sent in refusals.items()] == [True] * 4
    settings.HITL_MAIL = False
    assert "EMAIL_HOST is not set" in root.post(f"{RULES}add/", form).content.decode()
    assert NotificationRule.objects.count() == 1


def test_slack_url_is_shown_only_to_people_who_may_change_it(root):
    url = "https://hooks.slack.example/services/T0/B0/x"
    rule = NotificationRule.objects.create(person=people.bob(), route="slack", slack_url=url)
    pages = [f"{RULES}", f"{RULES}{rule.pk}/change/"]
    assert [url in root.get(page).content.decode() for page in pages] == [False, True]
    reader = staff("view_notificationrule")
    assert [(url in found.content.decode(), found.status_code) for found in map(reader.get, pages)] == [
        (False, 200)
    ] * 2


def test_webhooks_and_rules_are_changed_on_record_as_on_their_pages(root):
    root.post(f"{ENDPOINTS}add/", FORM)
    pk = WebhookEndpoint.objects.get().pk
    root.post(f"{ENDPOINTS}{pk}/change/", FORM | {"name": "books"})
    for action in ("new_webhook_secret", "end_old_webhook_secrets"):
        root.post(ENDPOINTS, {"action": action, "_selected_action": [pk]})
    root.post(f"{ENDPOINTS}{pk}/delete/", {"post": "yes"})
    rule = {
        "person": people.bob().pk,
        "route": "mail",
        "shows": "input",
        "min_priority": "high",
        "tool_name": "",
        "active": "on",
    }
    root.post(f"{RULES}add/", rule)
    pk = NotificationRule.objects.get().pk
    root.post(f"{RULES}{pk}/change/", rule | {"min_priority": "low"})
    root.post(RULES, {"action": "delete_selected", "_selected_action": [pk], "post": "yes"})
    assert (WebhookEndpoint.objects.count(), NotificationRule.objects.count()) == (0, 0)
    entries = AuditEntry.objects.exclude(event__startswith="login.").order_by("pk")
    assert [(entry.event, entry.data["change"], entry.actor_name, entry.via) for entry in entries] == [
        *(
            ("webhook.changed", change, "root", "admin")
            for change in ("created", "changed", "secret rotated", "old secrets ended", "removed")
        ),
        *(("rule.changed", change, "root", "admin") for change in ("created", "changed", "removed")),
    ]


@pytest.mark.parametrize("address", [ENDPOINTS, f"{ENDPOINTS}add/", RULES, f"{RULES}add/"])
def test_subscription_pages_have_no_inline_scripts_or_styles(root, address):
    response = root.get(address)
    assert (response.status_code, inline_code(response.content.decode())) == (200, [])


@pytest.mark.parametrize("address", [ENDPOINTS, RULES])
@pytest.mark.parametrize("query", ["?url__startswith=h", "?slack_url__regex=(", "?person__password__startswith=a"])
def test_only_the_lists_own_filters_reach_the_database(root, address, query):
    assert root.get(f"{address}{query}").status_code == 400


def webhooksecret(*arguments: str) -> str:
    out = StringIO()
    call_command("webhooksecret", *arguments, stdout=out)
    return out.getvalue()


def test_command_prints_only_the_new_secret():
    key, _ = create_key(people.alice(), name="agent")
    (text,) = webhooksecret("--key", key.prefix).splitlines()
    assert webhooks.secrets_of(key) == [text]


def test_command_refuses_an_unknown_key():
    with pytest.raises(CommandError, match="No active key has the prefix 'nonsense'"):
        webhooksecret("--key", "nonsense")


def test_the_permissions_exist():
    wanted = {"add_webhookendpoint", "change_webhookendpoint", "add_notificationrule", "change_outboxevent"}
    assert set(Permission.objects.filter(codename__in=wanted).values_list("codename", flat=True)) == wanted
