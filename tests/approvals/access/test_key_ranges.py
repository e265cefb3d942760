"""A key that is limited to networks works from nowhere else, and the page keeps what was typed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import RequestFactory
from django.utils import timezone

from approvals.access import callers
from approvals.administration.keys.actions import create_key
from approvals.models.keys import ApiKey
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db

OFFICE = ("203.0.113.0/24", "2001:db8:1::/48", "192.0.2.7/32")


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("203.0.113.9", True), ("192.0.2.7", True), ("192.0.2.8", False), ("2001:db8:1::5", True), ("2001:db8:2::5", False),
        ("::ffff:203.0.113.9", True), ("", False), ("fe80::1%eth0", False), ("nonsense", False),
    ],
)  # fmt: skip
def test_a_key_works_from_its_networks_alone_and_says_nothing_about_them(address, inside):
    _key, text = create_key(alice(), name="agent", ranges=OFFICE)
    client = Machine(authorization=f"Bearer {text}")
    client.client.defaults["REMOTE_ADDR"] = address
    reply = client.get("/requests")
    assert reply.status == (200 if inside else 403)
    if not inside:
        assert reply.refusal == (403, "address_not_allowed")
        assert reply.body["detail"] == (
            "This key does not work from your network address. Send it from an address that it allows, or ask an "
            "administrator for another key."
        )
        assert ApiKey.objects.get().last_used_at is None


def test_the_address_is_that_which_the_trusted_proxy_has_seen(settings):
    settings.TRUSTED_PROXIES = 1
    _key, text = create_key(alice(), name="agent", ranges=OFFICE)
    client = Machine(authorization=f"Bearer {text}")
    forged = client.get("/requests", x_forwarded_for="203.0.113.9, 198.51.100.1")
    sent = client.get("/requests", x_forwarded_for="198.51.100.1, 203.0.113.9")
    assert (forged.status, sent.status) == (403, 200)
    assert ApiKey.objects.get().last_used_from == "203.0.113.9"


def test_a_long_response_asks_again_with_the_address_of_its_call():
    _key, text = create_key(alice(), name="agent", ranges=OFFICE)
    factory = RequestFactory(headers={"authorization": f"Bearer {text}"})
    found = []
    for address in ("203.0.113.9", "198.51.100.1"):
        request = factory.get("/api/v1/events", REMOTE_ADDR=address)
        request.session = type("Session", (), {"session_key": None})()
        found.append(callers.credentials_of(request).caller() is not None)
    assert found == [True, False]


def test_a_client_token_is_for_browsers_elsewhere():
    _key, text = create_key(alice(), name="agent", scopes=("ask", "read"), ranges=OFFICE)
    caller = callers.caller_by_token(text, "203.0.113.9")
    token = callers.client_token(caller, thread="t-1")
    assert callers.caller_by_token(token, "198.51.100.1") is not None


def test_the_last_use_has_its_address_and_is_written_once_a_minute():
    _key, text = create_key(alice(), name="agent")
    client = Machine(authorization=f"Bearer {text}")
    seen = []
    for address in ("203.0.113.9", "198.51.100.1"):
        client.client.defaults["REMOTE_ADDR"] = address
        client.get("/requests")
        seen.append(ApiKey.objects.get().last_used_from)
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    client.get("/requests")
    assert (seen, ApiKey.objects.get().last_used_from) == (["203.0.113.9", "203.0.113.9"], "198.51.100.1")
    row = parse(browser(administrator()).get("/settings/keys/").text).find("p", class_="meta")[0].words
    assert "from 198.51.100.1" in row


def test_networks_are_stored_in_one_form_each_once():
    client = browser(administrator())
    typed = " 203.0.113.0/24\r\n\r\n2001:DB8:0::/32 \r\n192.0.2.7\r\n192.0.2.7/32\r\n10.0.0.0/255.0.0.0"
    client.post(
        "/settings/keys/",
        {"name": "agent", "user": "dora", "scopes": ["read"], "last_day": day_in(9), "ranges": typed},
    )
    assert ApiKey.objects.get().ranges == ["203.0.113.0/24", "2001:db8::/32", "192.0.2.7/32", "10.0.0.0/8"]


@pytest.mark.parametrize(
    "wrong",
    [
        "10.0.0.5/8", "10.0.0.0/33", "example.org", "fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:0:0/96", "٣.0.0.0/8", "<b>",
    ],
)  # fmt: skip
def test_a_wrong_network_is_named_and_the_form_keeps_everything(wrong):
    typed = f"203.0.113.0/24\r\n{wrong}"
    sent = {"name": "my agent", "user": "dora", "scopes": ["read"], "last_day": day_in(9), "ranges": typed}
    refused = browser(administrator()).post("/settings/keys/", sent)
    page = parse(refused.text)
    assert (refused.status_code, ApiKey.objects.count()) == (422, 0)
    (error,) = [element.words for element in page.find("p", class_="field-error")]
    assert error.startswith(f"“{wrong}” is not a network.")
    assert page.find("textarea", name="ranges")[0].text.split() == typed.split()


def test_a_key_has_at_most_twenty_networks():
    client = browser(administrator())
    sent = {"name": "agent", "user": "dora", "scopes": ["read"], "last_day": day_in(9)}
    found = [
        client.post("/settings/keys/", sent | {"ranges": "\n".join(f"10.{place}.0.0/16" for place in range(number))})
        for number in (21, 20)
    ]
    assert [reply.status_code for reply in found] == [422, 200]
    assert "A key has at most 20 networks. Combine some of them." in found[0].text
