"""Two processes of oidc-provider beside each other: nothing of one opens anything at the other."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from allauth.socialaccount.models import SocialAccount, SocialApp
from django.contrib.auth.models import User
from django.test import Client

from hitlsite.accounts.tokens import decode_id_token
from hitlsite.accounts.transport import read_config, start_calls
from tests.contract.openid.conftest import Provider
from tests.contract.openid.test_certified_provider import Browser
from tests.support import openid_provider
from tests.support.openid_provider import CLIENT, add, begin, came_back, use

pytestmark = pytest.mark.django_db


def link(name: str, issuer: str) -> None:
    """Make an account, which opens for the subject `dora` of this issuer."""
    SocialAccount.objects.create(user=User.objects.create_user(name), provider=issuer, uid="dora")


@pytest.fixture
def corp(node: Provider, settings) -> Provider:
    use(settings, node.issuer, PUBLIC_URL=node.site)
    node.do("person", sub="dora")
    link("dora-of-corp", node.issuer)
    return node


@pytest.fixture
def partner(other_node: Provider) -> Provider:
    add(other_node.issuer)
    other_node.do("person", sub="dora")
    link("dora-of-partner", other_node.issuer)
    return other_node


def answer_of(provider: Provider, client: Client) -> dict[str, str]:
    """Log in there, and return what the provider would tell us."""
    to = provider.lead_back(httpx.Client(), begin(client, at=provider.at))
    return dict(parse_qsl(urlsplit(to).query))


def name_of(client: Client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


@pytest.mark.parametrize("own", ["corp", "partner"])
def test_an_answer_of_one_opens_nothing_at_the_other_whatever_is_mixed(client, corp, partner, own):
    """Both log-ins are under way in one browser; parts of the answer of the other one come to the address of this one."""
    providers = {"corp": corp, "partner": partner}
    this = providers.pop(own)
    (other,) = providers.values()
    for parts in (
        {"code", "state", "iss"},
        {"code", "iss"},
        {"code"},
        {"state"},
        {"iss"},
        {"state", "iss"},
    ):
        ours = answer_of(this, client)
        theirs = answer_of(other, client)
        mixed = ours | {part: theirs[part] for part in parts}
        refused = client.get(f"{this.at}callback/", mixed)
        assert (parts, refused.status_code, name_of(client)) == (parts, 403, "")
    ours = answer_of(this, client)
    del ours["iss"]
    assert (client.get(f"{this.at}callback/", ours).status_code, name_of(client)) == (403, "")
    assert client.get(f"{this.at}callback/", answer_of(this, client)).status_code == 302
    assert name_of(client) == f"dora-of-{own}"


def id_token_for(nonce: str, provider: Provider) -> str:
    """Return an ID token that the provider signs for us about Dora, with the nonce of another log-in."""
    verifier = "v" * 50
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    back = f"{provider.site}{provider.at}callback/"
    asked = {"client_id": CLIENT["client_id"], "redirect_uri": back, "response_type": "code", "scope": "openid"}
    asked |= {"nonce": nonce, "code_challenge": challenge, "code_challenge_method": "S256"}
    to = provider.lead_back(httpx.Client(), f"{provider.issuer}/auth?{urlencode(asked)}")
    code = dict(parse_qsl(urlsplit(to).query))["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier, **CLIENT}
    return str(httpx.post(f"{provider.issuer}/token", data=form).json()["id_token"])


@pytest.mark.parametrize("publishes_its_keys", [False, True])
def test_an_id_token_of_one_opens_nothing_at_another_that_hands_it_on(client, corp, publishes_its_keys):
    """The other one is not honest: it has the token made for our log-in, and may publish the keys as its own."""
    with openid_provider.Provider() as partner:
        add(partner.issuer)
        link("dora-of-partner", partner.issuer)
        to = begin(client, at="/login/with/partner/")
        nonce = dict(parse_qsl(urlsplit(to).query))["nonce"]
        token = id_token_for(nonce, corp)
        partner.sign = lambda claims: token
        partner.person = {"sub": "dora"}
        if publishes_its_keys:
            partner.answers["/jwks"] = 200, httpx.get(f"{corp.issuer}/jwks").content
        assert (came_back(client, to).status_code, name_of(client)) == (403, "")
        assert "/token" in partner.called
    # Nothing else is wrong with it.
    app = SocialApp(provider_id=corp.issuer, client_id=CLIENT["client_id"], settings={"private": True})
    start_calls(app)
    assert decode_id_token(token, config=read_config(app), nonce=nonce)["sub"] == "dora"


def test_a_log_out_token_of_one_ends_nothing_at_the_other(corp, partner):
    browsers = {provider: Browser() for provider in (corp, partner)}
    for provider, browser in browsers.items():
        browser.log_in(provider, "dora")
    corp.sent.clear()
    browsers[corp].log_out_there(f"{corp.issuer}/session/end")
    (token,) = corp.sent
    assert Client().post(f"{partner.at}log-out/", {"logout_token": token}).status_code == 400
    assert [browser.is_logged_in for browser in browsers.values()] == [True, True]
    assert Client().post(f"{corp.at}log-out/", {"logout_token": token}).status_code == 200
    assert [browser.is_logged_in for browser in browsers.values()] == [False, True]
