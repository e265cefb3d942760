"""The pages of webhooks."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import AuditEntry, OutboxEvent
from approvals.models.subscriptions import SigningSecret, WebhookEndpoint
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db

HOOK = {
    "name": "billing",
    "url": "https://billing.example.org/?token=secret",
    "events": ["request.decided"],
    "active": "on",
}


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
    changes = [entry.data["change"] for entry in AuditEntry.objects.filter(event="webhook.changed").order_by("pk")]
    assert changes == ["created", "changed", "secret rotated", "removed"]
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
    assert len(found) <= 11
