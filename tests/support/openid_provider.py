"""A small OpenID provider on loopback that can also lie: it checks what it gets, and a test changes what it gives."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client

from approvals.access.providers import encrypt_secret
from approvals.administration.sign_in.actions import write_provider

CLIENT = {"client_id": "pausepoint", "client_secret": "a secret of the client"}
DORA = {"sub": "d-1", "email": "dora@example.org", "email_verified": True, "preferred_username": "dora"}


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Provider:
    """`person` logs in without being asked. `sign`, `token` and `answers` replace what the provider does and gives."""

    person: dict[str, Any] = field(default_factory=lambda: dict(DORA))
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    sign: Callable[[dict[str, Any]], str] | None = None
    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    key_id: str = "first"
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)

    def __enter__(self) -> Provider:
        handler = type("BoundHandler", (Handler,), {"provider": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def describe(self) -> dict[str, Any]:
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "userinfo_endpoint": "userinfo"}
        return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks"} | {
            name: f"{self.issuer}/{path}" for name, path in names.items()
        }

    def keys(self) -> dict[str, Any]:
        public = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [public | {"kid": self.key_id, "alg": "ES256", "use": "sig"}]}

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT["client_id"], "iat": now, "exp": now + 300, "auth_time": now}
        claims |= {**self.person, "nonce": nonce, **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return self.sign(claims)
        return jwt.encode(claims, self.key, "ES256", headers={"kid": self.key_id})

    def authorize(self, query: dict[str, str]) -> str:
        """Return where the browser goes next."""
        assert query["code_challenge_method"] == "S256"
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT["client_id"]
        code = secrets.token_urlsafe()
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if form["client_secret"] != CLIENT["client_secret"]:
            return 401, {"error": "invalid_client"}
        token = {"access_token": "an-access-token", "token_type": "Bearer"}
        return 200, token | {"id_token": self.id_token(asked["nonce"])}

    def respond(self, method: str, path: str, data: dict[str, str], token: str) -> tuple[int, Any]:
        match method, path:
            case "GET", "/.well-known/openid-configuration":
                return 200, self.describe()
            case "GET", "/jwks":
                return 200, self.keys()
            case "POST", "/token":
                return self.exchange(data)
            case "GET", "/userinfo" if token == "Bearer an-access-token":
                return 200, self.person | self.userinfo
        return 404, {}


class Handler(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/authorize":
            self.send_response(302)
            self.send_header("Location", self.provider.authorize(query))
            self.end_headers()
            return
        self.answer("GET", parts.path, query)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer("POST", self.path, {name: values[0] for name, values in parse_qs(body).items()})

    def answer(self, method: str, path: str, data: dict[str, str]) -> None:
        self.provider.called.append(path)
        if path in self.provider.answers:
            status, body = self.provider.answers[path]
        else:
            status, document = self.provider.respond(method, path, data, self.headers.get("Authorization", ""))
            body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def use(settings: Any, issuer: str, **more: Any) -> None:
    """Set up Pausepoint for a provider on this machine."""
    settings.OIDC_ISSUER = issuer
    settings.OIDC_NAME = "Corp"
    settings.OIDC_CLIENT_ID = CLIENT["client_id"]
    settings.OIDC_CLIENT_SECRET = CLIENT["client_secret"]
    settings.OIDC_PRIVATE_HOSTS = ["127.0.0.1", "localhost"]
    for name, value in more.items():
        setattr(settings, name, value)


def add(issuer: str, **more: Any) -> dict[str, Any]:
    """Add a provider in the product, with these settings."""
    stored = {"name": "Partner", "slug": "partner", "issuer": issuer, "client_id": CLIENT["client_id"]}
    stored |= {"link_by_email": False, "private": True, "secret": encrypt_secret(CLIENT["client_secret"]), **more}
    write_provider(stored, by=None)
    return stored


def begin(client: Client, *, at: str = "", **query: str) -> str:
    """Return the address at the provider to which the log-in page leads."""
    return client.get(at or "/login/sso/", query).headers["Location"]


def came_back(client: Client, to: str) -> Any:
    """Follow the provider's redirect, and return our response."""
    address = urlsplit(httpx.get(to).headers["Location"])
    return client.get(f"{address.path}?{address.query}")


def log_in(client: Client, *, at: str = "", **query: str) -> Any:
    return came_back(client, begin(client, at=at, **query))
