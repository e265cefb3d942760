"""An issuer of access tokens on loopback, its row, its tokens, and the calls of a program that sends one."""

from __future__ import annotations

import time
from typing import Any

import jwt
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.models import ApiKey, TokenIssuer
from tests.support.machine import Machine
from tests.support.openid_provider import Provider

AUDIENCE = "https://desk.example.org"


def add_issuer(provider: Provider, **columns: Any) -> TokenIssuer:
    """An issuer whose keys are known, as after the first fetch."""
    known = {"keys": provider.keys()["keys"], "fetched_at": timezone.now(), "answered_at": timezone.now()}
    settings = {"name": "Corp", "algorithms": ["ES256", "RS256"], "scoped": False, "private": True}
    return TokenIssuer.objects.create(issuer=provider.issuer, audience=AUDIENCE, **{**known, **settings, **columns})


def map_tokens(issuer: TokenIssuer, user: User, value: str = "billing", **columns: Any) -> ApiKey:
    settings = {"claim": "client_id", "scopes": ["ask", "read"], "name": "billing agent"}
    return ApiKey.objects.create(
        issuer=issuer, user=user, claim_value=value, prefix=f"t{ApiKey.objects.count()}", **{**settings, **columns}
    )


def claims_of(provider: Provider, **claims: Any) -> dict[str, Any]:
    """The claims of a token of a client for itself; those that are None are left out."""
    now = int(time.time())
    usual = {"iss": provider.issuer, "aud": AUDIENCE, "sub": "billing", "client_id": "billing"}
    usual |= {"iat": now, "exp": now + 300, "jti": "1"}
    return {name: value for name, value in (usual | claims).items() if value is not None}


def token_of(provider: Provider, *, header: dict[str, Any] | None = None, key: Any = None, **claims: Any) -> str:
    headers = {"typ": "at+jwt", "kid": provider.key_id} | (header or {})
    algorithm = headers.pop("alg", "ES256")
    return jwt.encode(claims_of(provider, **claims), key or provider.key, algorithm, headers=headers)


def bearer(token: str) -> Machine:
    return Machine(None, authorization=f"Bearer {token}")


def program(provider: Provider, **claims: Any) -> Machine:
    """A program that sends a token with these claims."""
    return bearer(token_of(provider, **claims))
