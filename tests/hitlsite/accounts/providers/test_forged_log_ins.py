"""Forged, replayed and broken answers at single sign-on: no one gets in, and each gets a page that says what to do."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client

from approvals.models import AuditEntry
from hitlsite.accounts import transport
from tests.support.markup import parse
from tests.support.openid_provider import CLIENT, Provider, begin, came_back, log_in, new_key, use

pytestmark = pytest.mark.django_db
CALLBACK = "/login/sso/callback/"
UNVERIFIED = (
    "Pausepoint could not verify this log-in with Corp. Go to the log-in page, and try again. If it happens again, "
    "ask an administrator to look into the log."
)
STALE = (
    "This log-in with Corp is no longer valid. It may have been used already, or taken more than 10 minutes. Go to the "
    "log-in page, and try again."
)
AWAY = (
    "Corp did not answer, or not as Pausepoint expects. Try again in a few minutes. If it happens again, ask an "
    "administrator to look at Administration > System."
)


@pytest.fixture
def provider(settings):
    """A provider that knows Dora, who has an account."""
    with Provider() as provider:
        use(settings, provider.issuer)
        dora = User.objects.create_user("dora", "dora@example.org")
        SocialAccount.objects.create(user=dora, provider=provider.issuer, uid="d-1")
        yield provider


def outcome(client: Client, response) -> tuple[int, str, bool]:
    return response.status_code, parse(response.text).find("h1")[0].words, "_auth_user_id" in client.session


def signed(key, algorithm: str = "ES256", **header: str):
    return lambda claims: jwt.encode(claims, key, algorithm, headers={"kid": "first", **header})


def unsigned(claims) -> str:
    parts = [{"alg": "none", "kid": "first"}, claims]
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])


def signed_with_the_published_key(provider: Provider):
    """As a shared secret, which PyJWT itself refuses to do."""

    def sign(claims) -> str:
        parts = [{"alg": "HS256", "kid": "first"}, claims]
        text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        secret = json.dumps(provider.keys()["keys"][0]).encode()
        digest = hmac.digest(secret, text.encode(), "sha256")
        return f"{text}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"

    return sign


def changed_after_signing(provider: Provider):
    def sign(claims) -> str:
        head, _body, signature = jwt.encode(claims, provider.key, "ES256", headers={"kid": "first"}).split(".")
        body = base64.urlsafe_b64encode(json.dumps(claims | {"sub": "d-1"}).encode()).decode().rstrip("=")
        return f"{head}.{body}.{signature}x"

    return sign


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another-client"},
        {"aud": None},
        {"aud": ["another-client"]},
        {"aud": [CLIENT["client_id"], "another-client"], "azp": "another-client"},
        {"iss": "https://another.example"},
        {"iss": None},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": ""},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"iat": None},
        {"iat": 2**33},
        {"nbf": 2**33},
        {"sub": ""},
        {"sub": None},
        {"sub": "d" * 192},
        {"sub": "d-2"},
    ],
)
def test_an_id_token_with_a_wrong_claim_lets_no_one_in(client, provider, claims):
    provider.claims = claims
    assert outcome(client, log_in(client)) == (403, UNVERIFIED, False)
    about = {"name": "", "address": "127.0.0.1", "provider": provider.issuer, "reason": "invalid"}
    assert [(entry.event, entry.data) for entry in AuditEntry.objects.all()] == [("login.failed", about)]


@pytest.mark.parametrize(
    "forge",
    [
        lambda provider: unsigned,
        changed_after_signing,
        lambda provider: signed(new_key()),
        lambda provider: signed(rsa.generate_private_key(65537, 2048), "RS256"),
        lambda provider: signed(CLIENT["client_secret"] * 2, "HS256"),
        signed_with_the_published_key,
        lambda provider: signed(provider.key, kid="another"),
        lambda provider: signed(provider.key, kid="../first"),
        lambda provider: lambda claims: "no token",
        lambda provider: lambda claims: "",
        lambda provider: lambda claims: "a.b.c",
    ],
)
def test_an_id_token_with_a_wrong_signature_lets_no_one_in(client, provider, forge):
    provider.sign = forge(provider)
    assert outcome(client, log_in(client)) == (403, UNVERIFIED, False)


def test_a_key_that_is_published_as_a_shared_secret_signs_nothing(client, provider, monkeypatch):
    secret = base64.urlsafe_b64encode(b"s" * 32).decode().rstrip("=")
    keys = {"keys": [{"kty": "oct", "k": secret, "kid": "first", "alg": "HS256"}]}
    provider.answers["/jwks"] = 200, json.dumps(keys).encode()
    provider.sign = signed(b"s" * 32, "HS256")
    assert outcome(client, log_in(client)) == (403, UNVERIFIED, False)


def test_userinfo_about_someone_else_lets_no_one_in(client, provider):
    for subject in ("d-2", "", None, 7):
        provider.userinfo["sub"] = subject
        assert outcome(client, log_in(client)) == (403, UNVERIFIED, False)


def test_an_address_that_userinfo_does_not_confirm_is_not_confirmed_by_the_id_token(client, provider, settings):
    settings.OIDC_LINK_BY_EMAIL = True
    User.objects.create_user("erin", "erin@example.org")
    provider.person["sub"] = "d-2"
    provider.claims["email_verified"] = True
    provider.person |= {"email": "erin@example.org", "email_verified": None}
    assert log_in(client).status_code == 403


def test_a_new_key_of_the_provider_counts_at_once_and_the_old_one_no_longer(client, provider):
    log_in(client)
    client.logout()
    old = signed(provider.key)
    provider.key = new_key()
    provider.key_id = "second"
    assert log_in(client).status_code == 302
    client.logout()
    provider.sign = old
    assert outcome(client, log_in(client)) == (403, UNVERIFIED, False)


def test_a_clock_that_is_half_a_minute_off_is_allowed(client, provider):
    provider.claims = {"exp": int(time.time()) - 30, "iat": int(time.time()) + 30}
    assert log_in(client).status_code == 302


def test_a_slash_at_the_end_of_the_issuer_makes_no_difference(client, provider):
    issuer = {"issuer": f"{provider.issuer}/"}
    provider.answers["/.well-known/openid-configuration"] = 200, json.dumps(provider.describe() | issuer).encode()
    provider.claims = {"iss": issuer["issuer"]}
    assert log_in(client).status_code == 302


def test_a_state_works_once_and_only_in_its_own_browser(client, provider):
    address = urlsplit(httpx.get(begin(client)).headers["Location"])
    back = f"{address.path}?{address.query}"
    thief = Client()
    assert outcome(thief, thief.get(back)) == (403, STALE, False)
    assert client.get(back).status_code == 302
    client.logout()
    assert outcome(client, client.get(back)) == (403, STALE, False)


def test_the_code_of_another_log_in_lets_no_one_in(client, provider):
    thief = Client()
    stolen = parse_qs(urlsplit(httpx.get(begin(client)).headers["Location"]).query)["code"][0]
    state = parse_qs(urlsplit(begin(thief)).query)["state"][0]
    refused = thief.get(CALLBACK, {"code": stolen, "state": state})
    assert outcome(thief, refused) == (403, UNVERIFIED, False)


def answer(client: Client, *issuers: str, **changed: str) -> str:
    """Begin a log-in, and return our address with the provider's answer, which names these issuers."""
    back = dict(parse_qsl(urlsplit(httpx.get(begin(client)).headers["Location"]).query)) | changed
    return f"{CALLBACK}?{urlencode([*back.items(), *(('iss', issuer) for issuer in issuers)])}"


@pytest.mark.parametrize("announced", [False, True])
def test_an_answer_names_its_issuer_if_that_is_announced_and_never_another_one(client, provider, announced):
    described = provider.describe() | {"authorization_response_iss_parameter_supported": announced}
    provider.answers["/.well-known/openid-configuration"] = 200, json.dumps(described).encode()
    own, other = provider.issuer, "https://another.example"
    wrong = [[other], [f"{own}/"], [own, other], [own, own], [""]]
    right = [[own]]
    (wrong if announced else right).append([])
    for issuers in wrong:
        to = answer(client, *issuers)
        # Nor does its state work again.
        assert [outcome(client, client.get(to)) for _ in range(2)] == [(403, UNVERIFIED, False), (403, STALE, False)]
        cancelled = client.get(answer(client, *issuers, error="access_denied"))
        assert outcome(client, cancelled) == (403, UNVERIFIED, False)
    assert "/token" not in provider.called
    for issuers in right:
        assert client.get(answer(client, *issuers)).status_code == 302


def test_a_cancelled_log_in_says_so(client, provider):
    state = parse_qs(urlsplit(begin(client)).query)["state"][0]
    refused = client.get(CALLBACK, {"error": "access_denied", "state": state})
    cancelled = "You cancelled the log-in with Corp. Go to the log-in page to try again."
    assert outcome(client, refused) == (403, cancelled, False)


NONSENSE = [
    (200, b""),
    (200, b"<html>"),
    (200, b"[]"),
    (200, b'"text"'),
    (200, b"null"),
    (200, b"{}"),
    (200, b"\xff\xfe"),
    (200, b'{"access_token": 1, "id_token": {}, "keys": 7, "issuer": null}'),
    (200, b'{"access_token": "a\\r\\nb", "id_token": [], "keys": [], "issuer": "x"}'),
    (200, b"[" * 100_000),
    (200, b"x" * 600_000),
    (302, b""),
    (404, b"{}"),
    (500, b"{}"),
]


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/jwks", "/userinfo"])
def test_nonsense_from_the_provider_gets_a_page_and_lets_no_one_in(client, provider, path):
    pages = set()
    for answer in NONSENSE:
        to = begin(client)
        provider.answers[path] = answer
        pages.add(outcome(client, came_back(client, to)))
        if path.startswith("/.well-known"):
            pages.add(outcome(client, client.get("/login/sso/")))
        provider.answers.clear()
    assert pages <= {(503, AWAY, False), (403, UNVERIFIED, False)}


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://another.example"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://login.example.org/authorize"},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
)
def test_a_description_that_leads_elsewhere_is_not_followed(client, provider, described):
    provider.answers["/.well-known/openid-configuration"] = 200, json.dumps(provider.describe() | described).encode()
    assert outcome(client, client.get("/login/sso/")) == (503, AWAY, False)


def test_a_provider_in_a_private_network_is_called_only_if_its_host_is_listed(client, provider, settings):
    settings.OIDC_PRIVATE_HOSTS = ["localhost"]
    assert outcome(client, client.get("/login/sso/")) == (503, AWAY, False)
    assert provider.called == []


def test_a_provider_that_is_away_gets_a_page_and_people_can_go_on(client, provider):
    client.force_login(User.objects.get(username="dora"))
    provider.__exit__()
    assert client.get("/login/sso/").status_code == 503
    assert client.get("/").status_code == 200


def test_a_provider_that_does_not_answer_gets_a_page_after_the_time_limit(client, settings, monkeypatch):
    monkeypatch.setattr(transport, "SECONDS", 0.2)
    ended = threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ended.wait(10)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        use(settings, f"http://127.0.0.1:{server.server_address[1]}")
        assert outcome(client, client.get("/login/sso/")) == (503, AWAY, False)
        ended.set()
        server.shutdown()


def test_all_calls_of_one_request_share_less_than_five_seconds():
    assert transport.SECONDS < 5
