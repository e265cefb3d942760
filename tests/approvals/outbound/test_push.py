"""Notifications on devices: encrypted for the browser, signed by us, and only for subscribers while they want them."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import timedelta

import http_ece
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from py_vapid import Vapid02
from py_vapid.jwt import decode

from approvals.administration.preferences.actions import store_preferences
from approvals.models import OutboxEvent, PushSubscription
from approvals.outbound.push import _signature, public_key
from approvals.states import Channel, Kind, Verdict
from tests.support.desk.carrying import carry, later
from tests.support.desk.requests import decide, make_request
from tests.support.people import alice, bob, carol
from tests.support.receiver import Receiver, answer

pytestmark = pytest.mark.django_db(transaction=True)

AUTH = b"sixteen bytes!!!"
#: Of the length of a public key, but no point of the curve P-256.
NO_POINT = urlsafe_b64encode(b"\x04" + 64 * b"x").rstrip(b"=").decode()
#: The generator of the curve, in the short form that no browser sends.
COMPRESSED = "A2sX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKW"


@pytest.fixture(autouse=True)
def _public(settings):
    settings.PUBLIC_URL = "https://desk.example.org"
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True


def encoded(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


@dataclass
class Browser:
    """A browser that is logged in and has a subscription at a push service."""

    user: User
    endpoint: str

    def __post_init__(self) -> None:
        self.client = Client(HTTP_USER_AGENT="a browser")
        self.client.force_login(self.user)
        self.key = ec.generate_private_key(ec.SECP256R1())

    def subscribe(self, **changes: str):
        point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        body = {"endpoint": self.endpoint, "p256dh": encoded(point), "auth": encoded(AUTH)} | changes
        return self.client.post("/settings/notifications/subscribe/", body)

    def read(self, body: bytes) -> dict[str, str]:
        return json.loads(http_ece.decrypt(body, private_key=self.key, auth_secret=AUTH, version="aes128gcm"))


@pytest.fixture
def service():
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def bobs(service) -> Browser:
    browser = Browser(bob(), service.url("/push/1"))
    assert browser.subscribe().status_code == 204
    return browser


def test_a_device_gets_the_title_tool_and_agent_and_nothing_else(service, bobs):
    request = make_request(alice(), title="Refund 4711?", tool_name="refund", input={"iban": "DE12"})
    carry()
    (got,) = service.got
    assert bobs.read(got.body) == {
        "title": "Refund 4711?",
        "body": "refund · support",
        "url": f"/requests/{request.pk}/",
        "tag": str(request.pk),
    }
    assert (got.headers["content-encoding"], got.headers["ttl"]) == ("aes128gcm", "86400")
    assert Vapid02.verify(got.headers["authorization"])
    assert got.headers["authorization"].rpartition("k=")[2] == public_key()


def test_many_requests_become_one_message(service, bobs):
    asker = alice()
    make_request(asker, title="The first")
    carry()
    for number in range(3):
        make_request(asker, title=f"Request {number}")
    later()
    carry()
    told = bobs.read(service.got[-1].body)
    assert (len(service.got), told["title"], told["url"]) == (2, "3 requests are waiting", "/")


def test_only_those_who_may_decide_are_told(service, bobs):
    asker, auditor = alice(), carol()
    for number, person in enumerate((asker, auditor)):
        assert Browser(person, service.url(f"/push/other-{number}")).subscribe().status_code == 204
    make_request(asker)
    carry()
    assert [got.path for got in service.got] == ["/push/1"]
    make_request(asker, Kind.QUESTION)
    later()
    carry()
    assert sorted(got.path for got in service.got) == ["/push/1", "/push/1", "/push/other-0"]


def test_what_was_decided_meanwhile_and_what_is_muted_is_not_told(service, bobs):
    asker = alice()
    decide(make_request(asker), bobs.user, Verdict.REJECT)
    carry()
    store_preferences(bobs.user, {"muted": ["push:question"]})
    make_request(asker, Kind.QUESTION)
    carry()
    assert (service.got, OutboxEvent.objects.filter(channel=Channel.PUSH, delivered_at=None).count()) == ([], 0)


def test_a_device_gets_nothing_after_its_log_out(service, bobs):
    bobs.client.post("/logout/")
    make_request(alice())
    carry()
    assert service.got == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_device_that_has_unsubscribed_is_forgotten(service, bobs, status):
    service.behave = lambda got: answer(status)
    make_request(alice())
    carry()
    assert (PushSubscription.objects.count(), OutboxEvent.objects.filter(delivered_at=None).count()) == (0, 0)


def test_a_push_service_that_is_down_is_tried_again(service, bobs):
    service.behave = lambda got: answer(503 if len(service.got) == 1 else 201)
    make_request(alice())
    carry()
    row = OutboxEvent.objects.get(channel=Channel.PUSH)
    assert (row.delivered_at, row.last_error) == (None, "answered 503")
    later()
    carry()
    assert (len(service.got), OutboxEvent.objects.filter(delivered_at=None).count()) == (2, 0)


def test_a_subscription_that_is_not_valid_is_refused(service, settings):
    browser = Browser(bob(), service.url())
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = False
    wrong = {
        "a private address": browser.subscribe(endpoint="https://127.0.0.1/push"),
        "no address": browser.subscribe(endpoint="nowhere"),
        "without TLS": browser.subscribe(endpoint="http://push.example.org/1"),
        "too long": browser.subscribe(endpoint=f"https://push.example.org/{'x' * 500}"),
        "a short key": browser.subscribe(endpoint="https://push.example.org/1", p256dh="abc"),
        "an odd secret": browser.subscribe(endpoint="https://push.example.org/1", auth="ä"),
        "no point of the curve": browser.subscribe(endpoint="https://push.example.org/1", p256dh=NO_POINT),
        "a point that is compressed": browser.subscribe(endpoint="https://push.example.org/1", p256dh=COMPRESSED),
        "foreign characters": browser.subscribe(endpoint="https://push.example.org/1", auth=encoded(AUTH) + 40 * "!"),
        "a line break": browser.subscribe(endpoint="https://push.example.org/1", auth=encoded(AUTH) + "\n"),
        "much padding": browser.subscribe(endpoint="https://push.example.org/1", auth=encoded(AUTH) + 40 * "="),
        "no character": browser.subscribe(endpoint="https://push.example.org/\x00"),
    }
    assert {name: found.status_code for name, found in wrong.items()} == dict.fromkeys(wrong, 422)
    assert (Client().post("/settings/notifications/subscribe/").status_code, PushSubscription.objects.count()) == (
        302,
        0,
    )


def test_a_browser_may_pad_its_keys(service):
    browser = Browser(bob(), service.url())
    assert browser.subscribe(auth=encoded(AUTH) + "==").status_code == 204
    make_request(alice(), title="Refund 4711?")
    carry()
    assert browser.read(service.got[0].body)["title"] == "Refund 4711?"


def test_a_push_that_fails_unexpectedly_is_counted_and_given_up(service, bobs, caplog):
    # A subscription from before keys were checked: no message can be encrypted for it.
    PushSubscription.objects.update(p256dh=NO_POINT)
    make_request(alice())
    carry()
    row = OutboxEvent.objects.get(channel=Channel.PUSH)
    assert (service.got, row.attempts, row.delivered_at, row.last_error[:11]) == ([], 1, None, "ValueError:")
    (logged,) = [one for one in caplog.records if one.name == "approvals.outbound.notifications"]
    assert (logged.getMessage(), logged.exc_info is not None) == (
        f"The message to {row.target} was not sent; it will be tried again",
        True,
    )
    OutboxEvent.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=4))
    later()
    carry()
    row.refresh_from_db()
    assert (row.attempts, row.delivered_at, row.dead_at is not None) == (2, None, True)


def test_an_endpoint_that_no_database_can_store_unsubscribes_nothing(bobs):
    sent = bobs.client.post("/settings/notifications/unsubscribe/", {"endpoint": f"{bobs.endpoint}\x00"})
    assert (sent.status_code, PushSubscription.objects.count()) == (302, 1)


def test_a_browser_belongs_to_who_subscribed_last_and_only_they_remove_it(service, bobs):
    other = Browser(carol(), bobs.endpoint)
    # The address of a browser without its keys takes over nothing.
    assert other.subscribe().status_code == 422
    assert [found.person.username for found in PushSubscription.objects.all()] == ["bob"]
    other.key = bobs.key
    assert other.subscribe().status_code == 204
    assert [found.person.username for found in PushSubscription.objects.all()] == ["carol"]
    bobs.client.post("/settings/notifications/unsubscribe/", {"endpoint": bobs.endpoint})
    assert PushSubscription.objects.count() == 1
    other.client.post("/settings/notifications/unsubscribe/", {"endpoint": bobs.endpoint})
    assert PushSubscription.objects.count() == 0


def test_without_https_devices_are_off_in_words_and_nothing_is_logged(service, bobs, settings, caplog):
    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    make_request(alice())
    carry()
    assert (service.got, OutboxEvent.objects.filter(channel=Channel.PUSH).count()) == ([], 0)
    assert [one for one in caplog.records if one.levelname in {"ERROR", "WARNING"}] == []
    refused = Browser(carol(), service.url("/push/2")).subscribe()
    assert (refused.status_code, "PUBLIC_URL does not start with https://" in refused.text) == (422, True)
    page = bobs.client.get("/settings/notifications/").text
    assert ("push-switch" in page, "Devices cannot be notified, because" in page) == (False, True)
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    assert "Off: PUBLIC_URL does not start with https://" in root.get("/settings/system/").text


@pytest.mark.parametrize("host", ["[2001:db8::1]", "[2001:db8::1]:8443", "push.example.org", "push.example.org:444"])
def test_a_message_is_signed_for_any_push_service(host):
    kind, _, rest = _signature(f"https://{host}/push/1")["Authorization"].partition(" ")
    token, key = (part.partition("=")[2] for part in rest.split(","))
    claims = decode(token, public_key())
    assert (kind, claims["aud"], claims["sub"], key) == (
        "vapid", f"https://{host}", "https://desk.example.org", public_key(),
    )  # fmt: skip
