"""Only tokens of Microsoft for this bot are accepted, checked with stored keys, and only for the tenant that is connected."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.utils import timezone

from approvals.access import issuer_keys
from approvals.channels.teams.tokens import CALLERS
from approvals.models import ChannelClick, ChannelIssuer
from tests.support.desk.requests import make_request
from tests.support.desk.teams import card_in, connected, linked, rule_for
from tests.support.people import alice, bob
from tests.support.teams import Teams
from tests.support.teams.cards import Json
from tests.support.teams.server import BOT_FRAMEWORK

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = "22222222-3333-4444-5555-666666666666"


@pytest.fixture
def teams(settings) -> Iterator[Teams]:
    with connected(settings) as teams:
        yield teams


def a_click(teams: Teams) -> Json:
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice())
    return person.activity(card_in(teams, ops), "Approve")


def entra(teams: Teams, **changes: Any) -> str:
    """Return a token of Entra, as Microsoft's newer services send it."""
    claims = {
        "iss": f"{teams.url}{teams.tenant}/v2.0",
        "aud": f"api://{teams.app_id}",
        "tid": teams.tenant,
        "azp": min(CALLERS),
        "serviceurl": None,
    }
    return teams.token(**(claims | changes))


def status(teams: Teams, activity: Any, token: str) -> int:
    return teams.deliver(activity, token)[0]


@pytest.mark.parametrize("audience", ["{id}", "api://{id}", "api://botid-{id}"])
def test_each_name_of_the_bot_is_an_audience(teams, audience):
    click = a_click(teams)
    assert status(teams, click, teams.token(aud=audience.format(id=teams.app_id))) == 200
    assert ChannelClick.objects.get().outcome == "decided"


@pytest.mark.parametrize(
    "token",
    [
        lambda teams: "",
        lambda teams: "abc",
        lambda teams: "a.b.c",
        lambda teams: teams.token() + "x" * 9_000,
        lambda teams: teams.token()[:-4] + "AAAA",
        lambda teams: teams.token(aud=OTHER),
        lambda teams: teams.token(aud=f"api://botid-{OTHER}"),
        lambda teams: teams.token(aud=None),
        lambda teams: teams.token(iss="https://evil.example"),
        lambda teams: teams.token(iss=None),
        lambda teams: teams.token(iss=[BOT_FRAMEWORK]),
        lambda teams: teams.token(exp=int(time.time()) - 301),
        lambda teams: teams.token(exp=None),
        lambda teams: teams.token(nbf=int(time.time()) + 400),
        lambda teams: teams.token(serviceurl=None),
        lambda teams: teams.token(serviceurl="https://evil.example/"),
        lambda teams: teams.token(serviceurl=["https://evil.example/"]),
        lambda teams: jwt.encode(jwt.decode(teams.token(), options={"verify_signature": False}), "", "none"),
        lambda teams: hashed(teams),
        lambda teams: signed_by_another(teams),
        lambda teams: jwt.encode({"iss": BOT_FRAMEWORK}, teams.key, "RS512", {"kid": teams.kid}),
        lambda teams: jwt.encode({"iss": BOT_FRAMEWORK}, teams.key, "RS256", {}),
        lambda teams: entra(teams, azp=OTHER),
        lambda teams: entra(teams, azp=None),
        lambda teams: entra(teams, azp=OTHER, appid=min(CALLERS)),
        lambda teams: entra(teams, tid=OTHER),
        lambda teams: entra(teams, iss=f"{teams.url}{OTHER}/v2.0", tid=OTHER),
        lambda teams: entra(teams, aud=OTHER),
    ],
)
def test_any_other_token_is_refused(teams, token: Callable[[Teams], str]):
    click = a_click(teams)
    assert status(teams, click, token(teams)) == 401
    assert ChannelClick.objects.count() == 0


def hashed(teams: Teams) -> str:
    """Return a token that is signed with the public key as the secret of another algorithm."""
    public = teams.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    claims = jwt.decode(teams.token(), options={"verify_signature": False})
    head = jwt.utils.base64url_encode(json.dumps({"alg": "HS256", "kid": teams.kid}).encode())
    body = jwt.utils.base64url_encode(json.dumps(claims).encode())
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(head + b"." + body, public)
    return b".".join([head, body, jwt.utils.base64url_encode(signature)]).decode()


def signed_by_another(teams: Teams) -> str:
    claims = jwt.decode(teams.token(), options={"verify_signature": False})
    return jwt.encode(claims, rsa.generate_private_key(65537, 2048), "RS256", {"kid": teams.kid})


@pytest.mark.parametrize("version", ["{login}{tenant}/v2.0", "https://sts.windows.net/{tenant}/"])
def test_a_token_of_entra_needs_no_service_address_but_a_known_caller_and_address(teams, version):
    click = a_click(teams)
    issuer = version.format(login=teams.url, tenant=teams.tenant)
    by_appid = {"azp": None, "appid": min(CALLERS)} if "sts" in version else {}
    token = entra(teams, iss=issuer, **by_appid)
    for service in ("https://evil.example/", "http://smba.trafficmanager.net/emea/", None):
        assert status(teams, {**click, "serviceUrl": service}, token) == 401
    assert status(teams, {**click, "serviceUrl": "https://smba.trafficmanager.net/emea/"}, token) == 200
    assert ChannelClick.objects.get().outcome == "decided"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"conversation": {"id": "19:x@thread.tacv2", "tenantId": OTHER}}, 403),
        ({"channelData": {"tenant": {"id": OTHER}}}, 403),
        ({"recipient": {"id": f"28:{OTHER}"}}, 403),
        ({"conversation": {"id": "19:x@thread.tacv2"}, "channelData": {}}, 403),
        ({"conversation": "x"}, 400),
        ({"from": {"aadObjectId": "29:bob"}}, 400),
        ({"replyToId": ["1"]}, 400),
        ({"type": "message"}, 200),
        ({"name": "task/fetch"}, 200),
    ],
)
def test_activities_of_others_and_malformed_ones_are_refused(teams, changes, expected):
    click = a_click(teams)
    assert status(teams, {**click, **changes}, teams.token()) == expected
    assert ChannelClick.objects.count() == 0


def test_a_guest_of_another_tenant_is_never_the_linked_person(teams):
    click = a_click(teams)
    guest = {**click, "from": {**click["from"], "tenantId": OTHER}}
    assert status(teams, guest, teams.token()) == 200
    assert ChannelClick.objects.get().outcome == "unlinked"


def test_keys_are_stored_and_read_again_once_for_a_new_one(teams):
    click = a_click(teams)
    reads = [path for _method, path in teams.calls if path == "/keys"]
    for _ in range(3):
        assert status(teams, click, teams.token()) == 200
    assert len([path for _method, path in teams.calls if path == "/keys"]) == len(reads) + 1
    teams.kid = "key-2"
    assert status(teams, click, teams.token()) == 401
    ChannelIssuer.objects.update(tried_at=timezone.now() - timedelta(minutes=2))
    assert status(teams, click, teams.token()) == 200
    assert ChannelClick.objects.count() == 1


def test_the_sweep_reads_keys_that_are_old_and_old_ones_are_not_used(teams, settings):
    click = a_click(teams)
    issuer_keys.refresh_due_keys()
    assert ChannelIssuer.objects.exclude(fetched_at=None).count() == 3
    assert not issuer_keys.due_channel_issuers(timezone.now()).exists()
    assert status(teams, click, teams.token()) == 200
    long_ago = timezone.now() - timedelta(days=2)
    ChannelIssuer.objects.update(fetched_at=long_ago, keys_url="http://127.0.0.1:9/keys", tried_at=None)
    assert status(teams, click, teams.token()) == 401


def test_wrong_tokens_count_against_their_address(teams, settings):
    settings.HITL_WRONG_KEYS_PER_MINUTE = 2
    answers = [status(teams, {}, "abc") for _ in range(3)]
    assert answers == [401, 401, 429]


def test_what_is_not_a_post_or_too_large_and_a_desk_without_teams_say_so(teams, client):
    assert client.get("/api/teams/messages").status_code == 405
    large = client.post("/api/teams/messages", b"x" * 1_000_001, content_type="application/json")
    assert (large.status_code, large.json()["code"]) == (413, "too_large")
    ChannelIssuer.objects.get(issuer=BOT_FRAMEWORK).connection.delete()
    missing = client.post("/api/teams/messages", {}, content_type="application/json")
    assert (missing.status_code, missing.json()["detail"]) == (404, "Microsoft Teams is not connected.")
