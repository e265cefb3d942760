"""Callers that ask too often or try wrong keys are limited, and no others."""

from __future__ import annotations

import json

import pytest
from django.test import Client, RequestFactory

from approvals.access import rate_limits
from approvals.access.callers import SCOPES, Caller, caller_by_token, client_token
from approvals.access.rate_limits import Limit, TooMany, client_address, network_of
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.api.frame import counted
from approvals.models import ApprovalRequest
from tests.support.machine import APPROVAL, Machine, Reply
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

CHAT = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}]}
#: Every address for asking, with a valid body.
ASKING = [
    ("/api/v1/requests", APPROVAL),
    ("/api/v1/ask-human", {"question": "Which size?"}),
    ("/api/chat", CHAT),
    ("/chat", {"prompt": "hello"}),
    ("/chat/stream", {"prompt": "hello"}),
    ("/api/v1/client-tokens", {"chat": "c1"}),
]


@pytest.fixture
def clock(monkeypatch):
    """The time of the limits, in seconds, as a list of one item."""
    now = [1000.0]
    monkeypatch.setattr(rate_limits, "monotonic", lambda: now[0])
    return now


@pytest.fixture(autouse=True)
def few(settings, monkeypatch, clock):
    settings.HITL_ASKS_PER_MINUTE, settings.HITL_WRONG_KEYS_PER_MINUTE = 3, 2
    monkeypatch.setattr(rate_limits, "asks", Limit())
    monkeypatch.setattr(rate_limits, "wrong_keys", Limit())


def assert_refused(reply: Reply, seconds: int) -> None:
    assert reply.refusal == (429, "too_many")
    assert reply.headers["retry-after"] == str(seconds)
    assert f"Try again in {seconds} second" in reply.body["detail"]


def test_a_key_may_use_its_share_at_once_and_then_as_it_refills(clock):
    machine = Machine(alice())
    assert [machine.post("/requests", APPROVAL).status for _ in range(3)] == [201] * 3
    assert_refused(machine.post("/requests", APPROVAL), 20)
    clock[0] += 19
    assert_refused(machine.post("/requests", APPROVAL), 1)
    clock[0] += 1
    assert [machine.post("/requests", APPROVAL).status for _ in range(2)] == [201, 429]
    clock[0] += 3600
    assert [machine.post("/requests", APPROVAL).status for _ in range(4)] == [201] * 3 + [429]
    assert ApprovalRequest.objects.count() == 7


def test_each_key_has_its_own_share_and_only_asking_counts():
    owner = bob()
    busy, other = Machine(owner), Machine(owner)
    asked = [busy.ask() for _ in range(3)]
    assert other.post("/requests", APPROVAL).status == 201
    assert {busy.get("/requests").status for _ in range(9)} == {200}
    assert busy.decide(asked[0], "reject").status != 429
    assert busy.post(f"/requests/{asked[1]['id']}/cancel").status == 200


def test_a_refused_body_counts_and_no_body_is_read_beyond_the_limit():
    machine = Machine(alice())
    assert [machine.send("POST", "/requests", b"{").status for _ in range(4)] == [400] * 3 + [429]


@pytest.mark.parametrize(("address", "body"), ASKING, ids=[address for address, _ in ASKING])
def test_every_address_for_asking_counts(settings, address, body):
    settings.HITL_ASKS_PER_MINUTE = 1
    _, text = create_key(alice(), name="k", scopes=SCOPES)
    counted(caller_by_token(text))
    headers = {"Authorization": f"Bearer {text}"}
    response = Client().post(address, json.dumps(body), content_type="application/json", headers=headers)
    if address == "/chat/stream":
        # Cedar shows no error of a stream, so the refusal is a message in the chat.
        assert (response.status_code, "Too many requests" in response.content.decode()) == (200, True)
    else:
        assert (response.status_code, response.headers["Retry-After"]) == (429, "60")


def test_client_tokens_share_the_limit_of_their_key():
    _, text = create_key(alice(), name="k", scopes=SCOPES)
    key = caller_by_token(text)
    one, other = (caller_by_token(client_token(key, thread=thread)) for thread in ("c1", "c2"))
    for caller in (one, other, key):
        counted(caller)
    for caller in (one, other, key):
        with pytest.raises(TooMany):
            counted(caller)


def test_a_client_token_where_it_does_not_work_costs_its_key_nothing():
    machine = Machine(alice())
    token = client_token(
        Caller(
            user=machine.key.user, standing=standing_of(machine.key.user), scopes=frozenset({"ask"}), key=machine.key
        ),
        thread="c1",
    )
    stranger = Machine(authorization=f"Bearer {token}")
    assert {stranger.post("/requests", APPROVAL).refusal for _ in range(4)} == {(403, "not_allowed")}
    assert [machine.post("/requests", APPROVAL).status for _ in range(4)] == [201] * 3 + [429]


def test_people_in_a_browser_are_counted_as_themselves():
    first, second = (
        Caller(user=user, standing=standing_of(user), scopes=SCOPES, session_key="s") for user in (alice(), bob())
    )
    for _ in range(3):
        counted(first)
    with pytest.raises(TooMany):
        counted(first)
    counted(second)


def test_wrong_keys_of_an_address_are_limited_and_a_valid_one_is_not():
    good, wrong = Machine(alice()), Machine(authorization="Bearer pp_12345678_wrong")
    assert [wrong.get("/requests").status for _ in range(2)] == [401, 401]
    assert_refused(wrong.get("/requests"), 30)
    assert good.get("/requests").status == 200
    assert Machine().get("/requests").refusal == (401, "not_authenticated")


def test_each_address_has_its_own_limit(settings):
    settings.TRUSTED_PROXIES = 1
    wrong = Machine(authorization="Bearer nonsense")
    for _ in range(3):
        last = wrong.get("/requests", x_forwarded_for="192.0.2.1")
    assert last.status == 429
    assert wrong.get("/requests", x_forwarded_for="192.0.2.2").status == 401


@pytest.mark.parametrize(
    ("proxies", "forwarded", "remote", "found"),
    [
        (0, "192.0.2.1", "10.0.0.9", "10.0.0.9"),
        (1, "6.6.6.6, 192.0.2.1", "10.0.0.9", "192.0.2.1"),
        (2, "6.6.6.6, 192.0.2.1, 10.0.0.8", "10.0.0.9", "192.0.2.1"),
        (2, "192.0.2.1", "10.0.0.9", "10.0.0.9"),
        (1, "", "10.0.0.9", "10.0.0.9"),
        (1, "nonsense", "10.0.0.9", "10.0.0.9"),
        (0, "", "unix:", ""),
        (0, "", "::ffff:192.0.2.1", "192.0.2.1"),
        (0, "", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"),
        (0, "", "", ""),
    ],
)
def test_the_address_of_a_client_behind_proxies(settings, proxies, forwarded, remote, found):
    settings.TRUSTED_PROXIES = proxies
    sent = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client_address(RequestFactory(headers=sent).get("/", REMOTE_ADDR=remote)) == found


def test_an_ipv6_network_counts_as_one_address():
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert [network_of(address) for address in ("192.0.2.1", "")] == ["192.0.2.1", ""]


def test_without_a_limit_nothing_is_counted(settings):
    settings.HITL_ASKS_PER_MINUTE = 0
    machine = Machine(alice())
    assert {machine.post("/requests", APPROVAL).status for _ in range(9)} == {201}


def test_rounding_does_not_change_the_limit(clock):
    for a_minute in (1, 7, 60, 599, 100_000):
        found = Limit()
        for _ in range(a_minute):
            found.count("x", a_minute)
        with pytest.raises(TooMany):
            found.count("x", a_minute)


def test_remembered_callers_are_bounded(monkeypatch):
    monkeypatch.setattr(rate_limits, "REMEMBERED", 10)
    found = Limit()
    for number in range(1000):
        found.count(str(number), 3)
    assert len(found._whole_at) == 10


def test_whoever_has_not_called_for_longest_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(rate_limits, "REMEMBERED", 2)
    limit = Limit()
    for who in ("alice", "bob", "alice", "carol", "carol"):
        limit.count(who, 2)
    for who in ("alice", "carol"):
        with pytest.raises(TooMany):
            limit.count(who, 2)
    assert list(limit._whole_at) == ["alice", "carol"]


def test_counting_costs_no_statement(django_assert_num_queries):
    machine = Machine(alice())
    machine.ask()
    for _ in range(2):
        machine.ask()
    with django_assert_num_queries(1):  # finding the caller
        assert machine.post("/requests", APPROVAL).status == 429
