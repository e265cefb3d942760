"""The keys of issuers: read, replaced, unreadable, and asked for no more often than allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.db import connection
from django.utils import timezone

from approvals.access import issuer_keys
from approvals.models import TokenIssuer
from tests.support.desk.token_issuer import add_issuer, bearer, map_tokens, token_of
from tests.support.openid_provider import Provider, new_key
from tests.support.people import alice

pytestmark = pytest.mark.django_db
WEAK = rsa.generate_private_key(65537, 1024)  # noqa: S505 - so that it is refused


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


def listed(provider: Provider, *others: Any) -> list[dict[str, Any]]:
    """The keys that are read from a set with these keys first."""
    body = {"keys": [*others, *provider.keys()["keys"]]}
    provider.answers["/jwks"] = (200, json.dumps(body).encode())
    return issuer_keys.read_keys(TokenIssuer(issuer=provider.issuer, private=True))


def without_fetch(keys: list[dict[str, Any]]) -> None:
    """Store keys as if they had just been read, so that no call reads them again or waits for one that does."""
    now = timezone.now()
    TokenIssuer.objects.update(keys=keys, tried_at=now, answered_at=now)


UNUSABLE = (
    5, None, "key", [], {}, {"kty": "XYZ", "kid": "a"}, {"kty": 5}, {"kty": "oct", "k": "c2VjcmV0", "kid": "first"},
    {"kty": "AKP", "alg": "ML-DSA-65", "pub": "AA"}, {"kty": "RSA", "n": 5, "e": "AQAB"}, {"kty": "RSA", "e": "AQAB"},
    {"kty": "EC", "crv": "P-256", "x": "A" * 3000, "y": "A"}, {"kty": "EC", "use": "enc"}, {"kty": "EC", "key_ops": ["sign"]},
    {"kty": "EC", "key_ops": "verify"}, {"kty": "EC", "kid": "é"},
    jwt.algorithms.RSAAlgorithm.to_jwk(WEAK.public_key(), as_dict=True),
)  # fmt: skip


def test_unusable_keys_never_break_the_set(provider):
    assert listed(provider, *UNUSABLE) == provider.keys()["keys"]


def test_keys_that_only_verification_finds_unusable_break_nothing_either(provider):
    odd = [
        {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "first"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "first"},
        {"kty": "OKP", "crv": "X25519", "x": "AA", "kid": "first"},
        {"kty": "RSA", "n": "@" * 400, "e": "AQAB", "kid": "first"},
        {"kty": "EC", "kid": "first"},
        # Another key with the same id.
        jwt.algorithms.ECAlgorithm.to_jwk(new_key().public_key(), as_dict=True) | {"kid": "first"},
    ]
    map_tokens(add_issuer(provider, keys=listed(provider, *odd)), alice())
    assert bearer(token_of(provider)).get("/requests").status == 200
    assert bearer(token_of(provider, key=new_key())).get("/requests").status == 401


def test_a_key_without_alg_verifies_each_algorithm_of_its_type(provider):
    key = rsa.generate_private_key(65537, 2048)
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": "rsa"}
    algorithms = ["RS256", "RS512", "PS256", "PS512"]
    map_tokens(add_issuer(provider, keys=listed(provider, public), algorithms=algorithms), alice())
    tokens = [token_of(provider, key=key, header={"kid": "rsa", "alg": name}) for name in algorithms]
    assert [bearer(token).get("/requests").status for token in tokens] == 4 * [200]
    other = public | {"alg": "RS256"}
    without_fetch([other])
    assert [bearer(token).get("/requests").status for token in tokens] == [200, 401, 401, 401]


def test_private_members_of_a_key_are_not_kept(provider):
    secret = jwt.algorithms.ECAlgorithm.to_jwk(new_key(), as_dict=True)
    assert "d" in secret
    assert {name for key in listed(provider, secret) for name in key} == {"kty", "crv", "x", "y", "kid", "alg", "use"}


def test_a_token_without_kid_needs_a_set_with_one_key(provider):
    issuer = add_issuer(provider)
    map_tokens(issuer, alice())
    nameless = jwt.encode(
        jwt.decode(token_of(provider), options={"verify_signature": False}), provider.key, "ES256", {"typ": "at+jwt"}
    )
    assert bearer(nameless).get("/requests").status == 200
    other = jwt.algorithms.ECAlgorithm.to_jwk(new_key().public_key(), as_dict=True)
    without_fetch([other, *issuer.keys])
    assert bearer(nameless).get("/requests").status == 401


@pytest.mark.parametrize(
    ("path", "answer", "problem"),
    [
        ("/jwks", (200, b'{"keys": []}'), "it publishes no usable keys"),
        ("/jwks", (200, b'{"keys": 5}'), "it publishes no usable keys"),
        ("/jwks", (200, b"[]"), "jwks is not a JSON object"),
        ("/jwks", (200, b"[" * 9999), "jwks is not JSON"),
        ("/jwks", (500, b"{}"), "jwks: answered 500"),
        ("/jwks", (302, b"{}"), "jwks: answered 302"),
        ("/jwks", (200, b" " * 300_000), "jwks: the response is not HTTP, or incomplete"),
        ("/.well-known/openid-configuration", (404, b"{}"), "openid-configuration: answered 404"),
        ("/.well-known/openid-configuration", (200, b'{"issuer": "https://evil.example"}'), "it names another issuer"),
    ],
)
def test_an_answer_without_keys_is_a_problem_that_an_administrator_reads(provider, path, answer, problem):
    provider.answers[path] = answer
    with pytest.raises(issuer_keys.UnreadableKeys) as raised:
        issuer_keys.read_keys(TokenIssuer(issuer=provider.issuer, private=True))
    assert str(raised.value).endswith(problem)


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/jwks", "http://10.0.0.1/jwks", "file:///etc/passwd", "", "http://[", "5"]
)
def test_keys_are_never_read_from_an_address_that_is_not_the_issuers(provider, url):
    about = json.dumps(provider.describe() | {"jwks_uri": url}).encode()
    provider.answers["/.well-known/openid-configuration"] = (200, about)
    with pytest.raises(issuer_keys.UnreadableKeys):
        issuer_keys.read_keys(TokenIssuer(issuer=provider.issuer, private=True))


def test_a_private_issuer_is_called_only_where_administrators_allow_it(provider):
    with pytest.raises(issuer_keys.UnreadableKeys, match="must start with https://"):
        issuer_keys.read_keys(TokenIssuer(issuer=provider.issuer))


def test_a_new_key_is_read_once_and_unknown_ones_at_most_once_a_minute(provider):
    map_tokens(add_issuer(provider), alice())
    provider.key, provider.key_id = new_key(), "second"
    assert bearer(token_of(provider)).get("/requests").status == 200
    assert provider.called == ["/.well-known/openid-configuration", "/jwks"]
    forged = [bearer(token_of(provider, header={"kid": f"k{number}"})).get("/requests").status for number in range(5)]
    assert forged == 5 * [401]
    assert len(provider.called) == 2
    TokenIssuer.objects.update(tried_at=timezone.now() - timedelta(seconds=61))
    assert bearer(token_of(provider, header={"kid": "k"})).get("/requests").status == 401
    assert len(provider.called) == 4


def test_the_sweep_reads_old_keys_and_does_not_use_up_the_minute(provider):
    issuer = add_issuer(provider, answered_at=timezone.now() - timedelta(minutes=11))
    map_tokens(issuer, alice())
    provider.key, provider.key_id = new_key(), "second"
    assert issuer_keys.due_issuers(timezone.now()).get() == issuer
    issuer_keys.refresh_due_keys()
    assert not issuer_keys.due_issuers(timezone.now()).exists()
    provider.key, provider.key_id = new_key(), "third"
    assert bearer(token_of(provider)).get("/requests").status == 200
    assert len(provider.called) == 4


def test_while_an_issuer_is_down_known_keys_go_on_for_a_day_and_others_are_to_try_again(provider):
    map_tokens(add_issuer(provider), alice())
    provider.answers["/.well-known/openid-configuration"] = (503, b"{}")
    good = bearer(token_of(provider))
    new = bearer(token_of(provider, key=new_key(), header={"kid": "second"}))
    for reply in (new.get("/requests"), new.get("/requests")):
        assert reply.refusal == (503, "issuer_unavailable")
        assert reply.headers["retry-after"] == "60"
    assert good.get("/requests").status == 200
    assert TokenIssuer.objects.get().problem.endswith("answered 503")
    TokenIssuer.objects.update(fetched_at=timezone.now() - timedelta(hours=25))
    assert good.get("/requests").refusal == (503, "issuer_unavailable")
    del provider.answers["/.well-known/openid-configuration"]
    TokenIssuer.objects.update(answered_at=None)
    issuer_keys.refresh_due_keys()
    assert good.get("/requests").status == 200
    assert TokenIssuer.objects.get().problem == ""


@pytest.mark.django_db(transaction=True)
def test_calls_that_arrive_while_another_one_reads_the_keys_wait_for_them(provider):
    map_tokens(add_issuer(provider, keys=[]), alice())
    token = token_of(provider)

    def call(_number: int) -> int:
        try:
            return bearer(token).get("/requests").status
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(call, range(8)))
    assert statuses == 8 * [200]
    assert provider.called == ["/.well-known/openid-configuration", "/jwks"]
