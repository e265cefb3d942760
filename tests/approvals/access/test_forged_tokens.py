"""Tokens that are forged, expired, meant for others or signed again: none gets in, and none ends in an error of ours."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from approvals.access.tokens import MAX_TOKEN
from approvals.models import ApiKey, TokenIssuer
from tests.support.desk.token_issuer import add_issuer, bearer, claims_of, map_tokens, token_of
from tests.support.openid_provider import Provider, new_key
from tests.support.people import alice

pytestmark = pytest.mark.django_db
RSA = rsa.generate_private_key(65537, 2048)
NUMBERS_THAT_ARE_NONE = ("1900000000", "abc", "1e10", None, True, [], {}, [1900000000])


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        map_tokens(add_issuer(provider), alice())
        yield provider


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def raw(provider: Provider, payload: bytes, header: bytes | None = None) -> str:
    """A token with these very bytes, signed by the issuer."""
    if header is None:
        header = json.dumps({"alg": "ES256", "kid": provider.key_id, "typ": "at+jwt"}).encode()
    signed = f"{encoded(header)}.{encoded(payload)}"
    algorithm = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256)
    return f"{signed}.{encoded(algorithm.sign(signed.encode(), provider.key))}"


def with_claims(provider: Provider) -> Iterator[str]:
    """Signed by the issuer, but with claims that do not count."""
    now = int(time.time())
    audiences: list[Any] = [
        None,
        "",
        "other",
        ["other"],
        [],
        {},
        5,
        "https://desk.example.org/",
        ["https://desk.example.org", 5],
    ]
    issuers = [
        "",
        "other",
        f"{provider.issuer}/",
        provider.issuer.upper(),
        provider.issuer + "?",
        "https://evil.example",
        "\ud800",
    ]
    times = {
        "exp": [now - 61, now - 86_400, 0, -1, 1e-9, *NUMBERS_THAT_ARE_NONE],
        "nbf": [now + 120, now + 86_400, 10**20, *NUMBERS_THAT_ARE_NONE],
        "iat": [now + 120, now + 86_400, 10**20, *NUMBERS_THAT_ARE_NONE],
    }
    changes: list[dict[str, Any]] = [{"aud": each} for each in audiences]
    changes += [{"iss": each} for each in issuers] + [{"iss": None}]
    # Only a missing `exp` is refused; the others are optional.
    changes += [{name: each} for name, values in times.items() for each in values if each is not None or name == "exp"]
    changes += [{"sub": each} for each in (None, 5, ["billing"], {"a": 1}, "", "a\nb", "x" * 300)]
    clients = (
        None,
        5,
        "",
        "Billing",
        "billing ",
        "b\u0456lling",
        "billing\0",
        "x" * 300,
        ["billing"],
        {"billing": 1},
        "\ud800",
    )
    changes += [{"client_id": each} for each in clients]
    changes += [{name: "x"} for name in ("nonce", "at_hash", "c_hash", "events")]
    for each in changes:
        yield token_of(provider, **each)


def with_headers(provider: Provider) -> Iterator[str]:
    """Signed by the issuer, but with headers that change what the signature means, or of another type."""
    kinds: tuple[Any, ...] = (
        "JWT",
        "jwt",
        "",
        None,
        "at+jwt2",
        "application/jwt",
        "logout+jwt",
        "dpop+jwt",
        5,
        ["at+jwt"],
    )
    headers: list[dict[str, Any]] = [{"typ": each} for each in kinds]
    headers += [{"crit": each} for each in (["exp"], [], ["b64"], "exp", None, ["kid"])]
    headers += [{"crit": ["b64"], "b64": False}, {"crit": ["b64"], "b64": True}]
    headers += [{"kid": each} for each in ("", "unknown", "../first", "first'--", "FIRST", 0, None, ["first"])]
    claims = json.dumps(claims_of(provider)).encode()
    for each in headers:
        header = {"alg": "ES256", "typ": "at+jwt", "kid": provider.key_id} | each
        yield raw(provider, claims, json.dumps(header).encode())
    for algorithm in (
        "none",
        "None",
        "HS256",
        "ES384",
        "RS256",
        "es256",
        "",
        None,
        ["ES256"],
        "A128KW",
        "EdDSA",
        {"ES256": 1},
    ):
        header = {"alg": algorithm, "typ": "at+jwt", "kid": provider.key_id}
        yield raw(provider, claims, json.dumps(header).encode())


def signed_by_others(provider: Provider) -> Iterator[str]:
    other = new_key()
    public = provider.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    own_jwk = jwt.algorithms.ECAlgorithm.to_jwk(other.public_key(), as_dict=True)
    # Keys that the header brings or points to.
    brought: list[dict[str, Any]] = [
        {},
        {"jwk": own_jwk},
        {"jku": f"{provider.issuer}/jwks"},
        {"x5u": provider.issuer},
        {"x5c": ["MIIB"]},
    ]
    for header in brought:
        yield token_of(provider, key=other, header=header)
    yield token_of(provider, key=RSA, header={"alg": "RS256"})
    yield token_of(provider, key=RSA, header={"alg": "PS256"})
    yield token_of(provider, key=ed25519.Ed25519PrivateKey.generate(), header={"alg": "EdDSA"})
    yield token_of(provider, key=ec.generate_private_key(ec.SECP384R1()), header={"alg": "ES384"})
    claims = encoded(json.dumps(claims_of(provider)).encode())
    for algorithm in ("HS256", "HS384", "HS512"):
        # The public key as a shared secret, which PyJWT itself does not sign with.
        head = encoded(json.dumps({"alg": algorithm, "typ": "at+jwt", "kid": provider.key_id}).encode())
        hashing = getattr(jwt.algorithms.HMACAlgorithm, algorithm.replace("HS", "SHA"))
        signature = jwt.algorithms.HMACAlgorithm(hashing).sign(f"{head}.{claims}".encode(), public)
        yield f"{head}.{claims}.{encoded(signature)}"
    good = token_of(provider)
    head, _claims, signature = good.split(".")
    yield f"{head}.{encoded(json.dumps(claims_of(provider, exp=1_999_999_999)).encode())}.{signature}"
    yield f"{head}.{claims}."
    yield f"{head}.{claims}.{encoded(bytes(64))}"
    yield f"{head}.{claims}.{encoded(bytes(63))}"
    yield f"{encoded(json.dumps({'alg': 'none', 'typ': 'at+jwt'}).encode())}.{claims}."
    for position in range(0, len(signature), 2):
        other_letter = "A" if signature[position] != "A" else "B"
        yield f"{head}.{claims}.{signature[:position]}{other_letter}{signature[position + 1 :]}"


def malformed(provider: Provider) -> Iterator[str]:
    good = token_of(provider)
    head, claims, signature = good.split(".")
    yield from (
        f"{head}.{claims}",
        f"{head}..{signature}",
        f"eyJ.{claims}.{signature}",
        "ey..",
        f"{good}.{signature}",
        f"ey{good}",
    )
    yield token_of(provider, pad="x" * MAX_TOKEN)
    bodies = (
        b"[]", b"null", b"5", b'"text"', b"", b"{", b"\xff", b'{"a": "\xff"}', b"[" * 5000, b'{"a":' * 1000,
        b'{"iss": ' + b"9" * 5000 + b"}",
        json.dumps(claims_of(provider)).replace('"billing"', "Infinity").encode(),
        json.dumps(claims_of(provider, exp=1)).replace('"exp": 1', '"exp": 1e999').encode(),
        json.dumps(claims_of(provider, exp=1)).replace('"exp": 1', '"exp": NaN').encode(),
        json.dumps(claims_of(provider)).replace('"aud"', '"aud": "other", "AUD"').encode(),
    )  # fmt: skip
    for body in bodies:
        yield raw(provider, body)
        yield raw(provider, json.dumps(claims_of(provider)).encode(), body)


def test_none_of_more_than_two_hundred_forged_tokens_gets_in_and_none_ends_in_an_error_of_ours(provider, settings):
    settings.HITL_WRONG_KEYS_PER_MINUTE = 0
    families = (with_claims, with_headers, signed_by_others, malformed)
    forged = [token for family in families for token in family(provider)]
    replies = [bearer(token).get("/requests") for token in forged]
    assert len(replies) > 200
    assert [(reply.status, token) for reply, token in zip(replies, forged, strict=True) if reply.status != 401] == []
    assert {reply.refusal for reply in replies} == {(401, "not_authenticated")}
    assert ApiKey.objects.get().last_used_at is None


def test_a_token_that_differs_from_them_in_nothing_else_gets_in(provider):
    assert bearer(token_of(provider)).get("/requests").status == 200
    assert bearer(raw(provider, json.dumps(claims_of(provider)).encode())).get("/requests").status == 200


def test_what_the_standard_allows_gets_in(provider):
    now = time.time()
    changes: list[dict[str, Any]] = [
        {"aud": ["other", "https://desk.example.org"]},
        {"exp": int(now) - 30},
        {"exp": now + 60.5},
        {"iat": int(now) + 30, "nbf": int(now) + 30},
        {"iat": None},
        {"header": {"typ": "AT+JWT"}},
        {"header": {"typ": "application/at+jwt"}},
        {"header": {"x-gateway": {"region": "eu"}, "jku": "https://evil.example"}},
    ]
    replies = [bearer(token_of(provider, **change)).get("/requests") for change in changes]
    assert [reply.status for reply in replies] == 8 * [200]
    assert provider.called == []


def test_tokens_of_the_type_jwt_get_in_where_the_issuer_is_configured_so(provider):
    tokens = [token_of(provider, header={"typ": kind}) for kind in ("JWT", None)]
    assert [bearer(token).get("/requests").status for token in tokens] == [401, 401]
    TokenIssuer.objects.update(any_type=True)
    assert [bearer(token).get("/requests").status for token in tokens] == [200, 200]
    assert bearer(token_of(provider, header={"typ": "JWT"}, nonce="n")).get("/requests").status == 401


def test_a_refusal_says_why(provider):
    about = {
        "it has expired": {"exp": 1},
        "it is meant for another audience": {"aud": "other"},
        "it is not valid yet": {"nbf": int(time.time()) + 600},
        "its type is not at+jwt": {"header": {"typ": "JWT"}},
        "its algorithm is not allowed": {"header": {"alg": "EdDSA"}, "key": ed25519.Ed25519PrivateKey.generate()},
        "its signature or a claim is invalid": {"key": new_key()},
        "the claim sub is missing": {"sub": None},
        "the claim sub is unreadable": {"sub": "a\nb"},
        "does not publish the key": {"header": {"kid": "unknown"}},
        "does not accept tokens of this issuer": {"iss": "https://evil.example"},
        "no mapping to an active user matches it": {"client_id": "other", "sub": "other"},
    }
    replies = {
        words: bearer(token_of(provider, **change)).get("/requests").body["detail"] for words, change in about.items()
    }
    assert [detail for words, detail in replies.items() if words not in detail] == []
