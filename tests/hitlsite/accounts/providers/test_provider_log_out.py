"""Log-out at the OpenID provider, and by it (back-channel): which sessions end, and which never do."""

from __future__ import annotations

import json
import random
import string
import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals.models import UsedLogOutToken
from approvals.models.people import ProviderSession
from hitlsite.accounts.tokens import LOG_OUT_EVENT
from tests.hitlsite.accounts.providers.test_forged_log_ins import NONSENSE, changed_after_signing, signed, unsigned
from tests.hitlsite.accounts.test_passwords import CHANGE
from tests.support.markup import parse
from tests.support.openid_provider import CLIENT, Provider, log_in, new_key, use
from tests.support.people import PASSWORD

pytestmark = pytest.mark.django_db
ADDRESS = "/login/sso/log-out/"


@pytest.fixture
def provider(settings):
    """A provider with a page for log-out. It knows Dora and Erin, who have accounts."""
    with Provider() as provider:
        use(settings, provider.issuer)
        for name, subject in (("dora", "d-1"), ("erin", "e-1")):
            person = User.objects.create_user(name, f"{name}@example.org", PASSWORD)
            SocialAccount.objects.create(user=person, provider=provider.issuer, uid=subject)
        describe(provider, end_session_endpoint=f"{provider.issuer}/end")
        yield provider


def describe(provider: Provider, **more: object) -> None:
    document = json.dumps(provider.describe() | more).encode()
    provider.answers["/.well-known/openid-configuration"] = 200, document


def session_of(provider: Provider, subject: str = "d-1", sid: str | None = None) -> Client:
    client = Client()
    provider.person |= {"sub": subject, "email": f"{subject}@example.org"}
    provider.claims["sid"] = sid
    assert log_in(client).status_code == 302
    return client


def is_logged_in(client: Client) -> bool:
    return client.get("/workflows/").status_code == 200


def token(provider: Provider, *, sign=None, **more: object) -> str:
    now = int(time.time())
    claims = {"iss": provider.issuer, "aud": CLIENT["client_id"], "iat": now, "exp": now + 120, "sub": "d-1"}
    claims |= {"jti": f"j-{random.random()}", "events": {LOG_OUT_EVENT: {}}} | more  # noqa: S311 - no secret
    claims = {name: value for name, value in claims.items() if value is not None}
    return (sign or signed(provider.key))(claims)


def send(text: object, **headers: str):
    return Client(enforce_csrf_checks=True).post(ADDRESS, {"logout_token": text}, **headers)


def outcome(response) -> tuple[int, str]:
    return response.status_code, response.headers["Cache-Control"]


DONE, REFUSED = (200, "no-store"), (400, "no-store")


def test_a_log_out_leads_to_the_providers_page_with_the_id_token(provider):
    client = session_of(provider)
    page = client.post("/logout/")
    assert (page.status_code, is_logged_in(client), "no-store" in page.headers["Cache-Control"]) == (200, False, True)
    parsed = parse(page.text)
    assert parsed.find("h1")[0].words == "You are logged out of Pausepoint"
    address = parsed.find("a", class_="button")[0].attributes["href"]
    assert parsed.find("meta", **{"http-equiv": "refresh"})[0].attributes["content"] == f"0;url={address}"
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert address.startswith(f"{provider.issuer}/end?")
    hint = jwt.decode(query.pop("id_token_hint"), provider.key.public_key(), ["ES256"], audience=CLIENT["client_id"])
    assert (hint["sub"], query) == (
        "d-1", {"client_id": "pausepoint", "post_logout_redirect_uri": "http://127.0.0.1:8000/login/"}
    )  # fmt: skip


@pytest.mark.parametrize(
    "address", [None, "", 7, "javascript:alert(1)", "http://login.example.org/end", "https://a b", "https://[::1"]
)
def test_without_a_usable_page_of_the_provider_the_log_out_ends_here(provider, address):
    describe(provider, end_session_endpoint=address)
    client = session_of(provider)
    assert (client.post("/logout/").headers["Location"], is_logged_in(client)) == ("/login/", False)


def test_a_long_id_token_is_left_out_and_a_query_of_the_address_stays(provider):
    describe(provider, end_session_endpoint=f"{provider.issuer}/end?tenant=7")
    provider.claims["groups"] = [f"group {number}" for number in range(400)]
    page = session_of(provider).post("/logout/")
    address = parse(page.text).find("a", class_="button")[0].attributes["href"]
    assert sorted(parse_qs(urlsplit(address).query)) == ["client_id", "post_logout_redirect_uri", "tenant"]


def test_people_with_a_password_log_out_here_only_and_a_provider_that_is_down_stops_no_one(client, provider):
    client.login(username="dora", password=PASSWORD)
    assert client.post("/logout/").headers["Location"] == "/login/"
    theirs = session_of(provider)
    provider.__exit__()
    assert (theirs.post("/logout/").status_code, is_logged_in(theirs)) == (200, False)


@pytest.mark.parametrize(
    ("named", "left"),
    [
        ({"sub": "d-1"}, ["erin"]),
        ({"sub": "d-1", "sid": "s-1"}, ["dora 2", "erin"]),
        ({"sub": None, "sid": "s-1"}, ["dora 2", "dora without", "erin"]),
        ({"sub": "e-1", "sid": "s-1"}, ["dora 1", "dora 2", "dora without", "erin"]),
        ({"sub": "d-9"}, ["dora 1", "dora 2", "dora without", "erin"]),
        ({"sub": None, "sid": "s-9"}, ["dora 1", "dora 2", "dora without", "erin"]),
    ],
)
def test_the_provider_ends_the_sessions_that_it_names_and_no_other(client, provider, named, left):
    sessions = {
        "dora 1": session_of(provider, sid="s-1"),
        "dora 2": session_of(provider, sid="s-2"),
        "dora without": session_of(provider),
        "erin": session_of(provider, "e-1", sid="s-3"),
    }
    client.login(username="dora", password=PASSWORD)
    assert outcome(send(token(provider, **named))) == DONE
    assert [name for name, each in sessions.items() if is_logged_in(each)] == left
    assert is_logged_in(client)


def test_a_session_that_goes_on_with_a_new_password_still_ends(provider):
    client = session_of(provider)
    assert client.post("/password/", CHANGE).status_code == 302
    assert is_logged_in(client)
    send(token(provider))
    assert not is_logged_in(client)


def test_a_token_works_once_and_is_forgotten_when_it_is_too_old(provider):
    once = token(provider, jti="j-1")
    assert outcome(send(once)) == DONE
    client = session_of(provider)
    assert (outcome(send(once)), is_logged_in(client)) == (REFUSED, True)
    UsedLogOutToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert outcome(send(token(provider, sub="d-9"))) == DONE
    assert UsedLogOutToken.objects.count() == 1


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://another.example"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": None},
        {"events": None},
        {"events": {}},
        {"events": [LOG_OUT_EVENT]},
        {"events": LOG_OUT_EVENT},
        {"events": {LOG_OUT_EVENT: True}},
        {"events": {"http://schemas.openid.net/event/another": {}}},
        {"nonce": "n"},
        {"nonce": ""},
        {"jti": None},
        {"jti": ""},
        {"jti": 7},
        {"iat": None},
        {"iat": "now"},
        {"iat": 1},
        {"iat": 2**33},
        {"exp": 1},
        {"exp": "soon"},
        {"nbf": 2**33},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": ["d-1"]},
        {"sub": None, "sid": ""},
        {"sid": 7},
        {"sid": {"$ne": ""}},
    ],
)
def test_a_log_out_token_with_a_wrong_claim_ends_no_session(provider, claims):
    client = session_of(provider, sid="s-1")
    assert (outcome(send(token(provider, **claims))), is_logged_in(client)) == (REFUSED, True)


@pytest.mark.parametrize(
    "forge",
    [
        lambda provider: unsigned,
        changed_after_signing,
        lambda provider: signed(new_key()),
        lambda provider: signed(CLIENT["client_secret"] * 2, "HS256"),
        lambda provider: signed(provider.key, kid="another"),
        lambda provider: signed(provider.key, typ="at+jwt"),
        lambda provider: lambda claims: "no token",
        lambda provider: lambda claims: "",
        lambda provider: lambda claims: "a.b.c",
    ],
)
def test_a_log_out_token_with_a_wrong_signature_or_type_ends_no_session(provider, forge):
    client = session_of(provider)
    assert (outcome(send(token(provider, sign=forge(provider)))), is_logged_in(client)) == (REFUSED, True)


def test_a_token_of_the_type_of_the_standard_counts_and_an_id_token_does_not(provider):
    client = session_of(provider)
    assert outcome(send(provider.id_token("n"))) == REFUSED
    assert is_logged_in(client)
    assert outcome(send(token(provider, sign=signed(provider.key, typ="logout+jwt")))) == DONE
    assert not is_logged_in(client)


def test_a_token_of_another_issuer_for_the_same_subject_ends_no_session(provider, settings):
    client = session_of(provider)
    with Provider() as other:
        assert outcome(send(token(other))) == REFUSED
        use(settings, other.issuer)
        assert outcome(send(token(other))) == DONE
    assert is_logged_in(client)


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks"])
def test_nonsense_from_the_provider_ends_no_session(provider, path):
    client = session_of(provider)
    answers = set()
    for answer in NONSENSE:
        provider.answers[path] = answer
        answers.add(outcome(send(token(provider))))
    assert (answers, is_logged_in(client)) == ({REFUSED}, True)


def test_two_hundred_forged_tokens_end_no_session_and_none_is_an_error_of_ours(provider):
    client = session_of(provider)
    chance = random.Random(45)  # noqa: S311 - no secret
    good = token(provider, jti="never sent")
    statuses = set()
    for _ in range(200):
        text = list(good)
        for place in chance.sample(range(len(text)), 3):
            text[place] = chance.choice(string.printable + "\0ä\u202e")
        length = chance.choice([len(text), len(text) // 2, 1])
        # The last letter of a signature has unused bits.
        forged = "".join(text[:length]) if "".join(text[:-2]) != good[:-2] else ""
        statuses.add(send(forged).status_code)
    strange = [
        Client().post(ADDRESS, b"\xff\0", content_type="application/x-www-form-urlencoded"),
        Client().post(ADDRESS, json.dumps({"logout_token": good}), content_type="application/json"),
        Client().post(ADDRESS, {"logout_token": [good, "a"]}),
        Client().post(f"{ADDRESS}?logout_token={good}"),
        send("x" * 1_000_000),
    ]
    assert (statuses | {each.status_code for each in strange}, is_logged_in(client)) == ({400}, True)


def test_the_address_takes_posts_only_exists_with_a_provider_only_and_has_a_limit(client, provider, settings):
    assert client.get(ADDRESS).status_code == 405
    settings.ACCOUNT_RATE_LIMITS = {"log_out_by_provider": "1/300s/ip"}
    assert [send("x").status_code for _ in range(2)] == [400, 429]
    settings.OIDC_ISSUER = ""
    assert send(token(provider)).status_code == 404


def test_a_session_is_forgotten_with_its_row(provider):
    client = session_of(provider, sid="s-1")
    assert ProviderSession.objects.get().sid == "s-1"
    client.post("/settings/sessions/end-others/")
    User.objects.get(username="dora").delete()
    assert ProviderSession.objects.count() == 0
