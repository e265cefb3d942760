"""Answers of a provider that were put together from parts of others, or of any text: no one gets in."""

from __future__ import annotations

import itertools
import random
import string
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client

from tests.support.openid_provider import Provider, add, begin, use

pytestmark = pytest.mark.django_db
CALLBACK = "/login/sso/callback/"
#: Where the state and the code of an answer are from.
PARTS = ["own", "of another browser", "used", "of another provider", "unknown", "empty", "missing", "twice"]
#: The issuers that an answer names.
ISSUERS = ["none", "own", "another"]


@pytest.fixture
def provider(settings):
    """A provider that knows Dora, who has an account."""
    with Provider() as provider:
        use(settings, provider.issuer)
        dora = User.objects.create_user("dora", "dora@example.org")
        SocialAccount.objects.create(user=dora, provider=provider.issuer, uid="d-1")
        yield provider


@pytest.fixture
def partner():
    with Provider() as partner:
        add(partner.issuer)
        yield partner


def answer(client: Client, at: str = "") -> dict[str, str]:
    """Begin a log-in, and return what the provider answers."""
    return dict(parse_qsl(urlsplit(httpx.get(begin(client, at=at)).headers["Location"]).query))


def used_answer(client: Client) -> dict[str, str]:
    """Return an answer whose state this browser has used, and whose code another one has."""
    theirs = answer(client)
    client.get(CALLBACK, {"state": theirs["state"], "error": "access_denied"})
    thief = Client()
    used = answer(thief)
    assert thief.get(CALLBACK, used).status_code == 302
    return theirs | {"code": used["code"]}


def values(name: str, part: str, own: dict[str, str], client: Client) -> list[tuple[str, str]]:
    """Return this parameter of an answer, as often as it is in there."""
    match part:
        case "own":
            return [(name, own[name])]
        case "of another browser":
            return [(name, answer(Client())[name])]
        case "used":
            return [(name, used_answer(client)[name])]
        case "of another provider":
            return [(name, answer(client, "/login/with/partner/")[name])]
        case "unknown":
            return [(name, "x" * 16)]
        case "empty":
            return [(name, "")]
        case "twice":
            return [(name, own[name]), (name, "x" * 16)]
    return []


@pytest.mark.parametrize("state", PARTS)
def test_of_192_answers_only_the_two_with_the_own_state_code_and_issuer_let_someone_in(
    client, provider, partner, state
):
    """Nor is any of the others an error of ours."""
    issuers = {"none": [], "own": [("iss", provider.issuer)], "another": [("iss", partner.issuer)]}
    outcomes = {}
    for code, issuer in itertools.product(PARTS, ISSUERS):
        own = answer(client)
        query = [*values("state", state, own, client), *values("code", code, own, client), *issuers[issuer]]
        status = client.get(f"{CALLBACK}?{urlencode(query)}").status_code
        outcomes[code, issuer] = (status, "_auth_user_id" in client.session)
        client.logout()
    right = {("own", "none"), ("own", "own")} if state == "own" else set()
    assert outcomes == {each: (302, True) if each in right else (403, False) for each in outcomes}
    assert len(outcomes) == 24


def test_answers_of_any_text_let_no_one_in_and_none_is_an_error_of_ours(client, provider):
    chance = random.Random(44)  # noqa: S311 - no secret
    letters = string.printable + "\0äß\u202e😀"
    statuses = []
    for number in range(50):
        if number % 10 == 0:
            state = answer(client)["state"]
        text = "".join(chance.choices(letters, k=chance.choice([0, 1, 20, 2000])))
        names = chance.sample(["code", "state", "error", "iss", "error_description", "process", "session_state"], 4)
        query: dict[str, object] = dict.fromkeys(names, text)
        if chance.random() < 0.6:
            query["state"] = state
        if chance.random() < 0.2:
            query["code"] = ["a", "b"]
        statuses.append(client.get(f"{CALLBACK}?{urlencode(query, doseq=True)}").status_code)
    assert set(statuses) <= {400, 403}
    assert ("_auth_user_id" in client.session, SocialAccount.objects.count()) == (False, 1)
