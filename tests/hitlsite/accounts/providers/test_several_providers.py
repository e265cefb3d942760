"""Several providers of single sign-on: that of the environment, and those that administrators added."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from allauth.mfa.models import Authenticator as Factor
from allauth.mfa.totp.internal import auth as time_codes
from allauth.socialaccount.models import SocialAccount, SocialApp
from django.contrib.auth.models import User
from django.test import Client
from oidc_provider_mock import run_server_in_thread

from approvals.administration.people.actions import create_roles
from approvals.administration.people.queries import roles_of
from approvals.administration.sign_in.actions import remove_provider
from approvals.models import AuditEntry, GroupMapping, Role
from hitlsite.accounts.factor_forms import FactorAdapter
from hitlsite.health import metrics
from tests.approvals.administration.people.test_people import administrator
from tests.hitlsite.accounts.providers.test_provider_log_out import is_logged_in, token
from tests.support import people
from tests.support.markup import parse
from tests.support.openid_provider import Provider, add, begin, came_back, log_in, use

pytestmark = pytest.mark.django_db
STALE = (
    "This log-in with {} is no longer valid. It may have been used already, or taken more than 10 minutes. Go to the "
    "log-in page, and try again."
)
START = "/login/sso/"
AT = "/login/with/partner/"
OTHER = "/login/with/other/"


@pytest.fixture
def corp(settings):
    """The provider of the environment."""
    create_roles()
    with Provider() as provider:
        use(settings, provider.issuer)
        yield provider


@pytest.fixture
def partner():
    with Provider() as provider:
        add(provider.issuer)
        yield provider


def link(name: str, provider: Provider, **fields) -> User:
    person = User.objects.create_user(name, f"{name}@example.org", **fields)
    SocialAccount.objects.create(user=person, provider=provider.issuer, uid="d-1")
    return person


def name_of(client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def headline(response) -> str:
    return parse(response.text).find("h1")[0].words


def test_the_log_in_page_offers_each_provider_by_its_name(client, corp, partner):
    add("https://z.example.org", name="A\u202eb", slug="z")
    page = parse(client.get("/login/", {"next": "/audit/"}).text)
    buttons = {each.words: each.attributes["href"] for each in page.find("a", class_="button")}
    assert buttons == {
        "Continue with Corp": "/login/sso/?next=%2Faudit%2F",
        "Continue with A⟨U+202E⟩b": "/login/with/z/?next=%2Faudit%2F",
        "Continue with Partner": "/login/with/partner/?next=%2Faudit%2F",
    }


def test_the_same_subject_at_two_providers_is_two_people(client, corp, partner):
    link("dora", corp)
    link("pat", partner)
    for at, name in (("", "dora"), (AT, "pat")):
        query = dict(parse_qsl(urlsplit(begin(client, at=at)).query))
        assert query["redirect_uri"] == f"http://127.0.0.1:8000{at or START}callback/"
        assert (log_in(client, at=at, next="/workflows/").headers["Location"], name_of(client)) == ("/workflows/", name)
        client.logout()
    succeeded = AuditEntry.objects.filter(event="login.succeeded").order_by("pk")
    assert [entry.data["provider"] for entry in succeeded] == [corp.issuer, partner.issuer]


def test_only_the_providers_that_are_known_have_addresses(client, partner):
    assert [client.get(each).status_code for each in (START, f"{START}callback/", OTHER, f"{OTHER}callback/")] == [
        404
    ] * 4
    assert client.post(f"{OTHER}log-out/").status_code == 404


@pytest.mark.parametrize(("begun", "ended", "name"), [("", AT, "Partner"), (AT, "", "Corp")])
def test_an_answer_of_one_provider_at_the_address_of_another_lets_no_one_in(client, corp, partner, begun, ended, name):
    link("dora", corp)
    link("pat", partner)
    back = urlsplit(httpx.get(begin(client, at=begun)).headers["Location"])
    for provider in (corp, partner):
        provider.called.clear()
    refused = client.get(f"{ended or START}callback/?{back.query}")
    assert (refused.status_code, headline(refused), name_of(client)) == (403, STALE.format(name), "")
    assert corp.called + partner.called == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider's own libraries
def test_two_of_another_implementation_let_their_own_people_in_and_no_mixed_up_ones(client, settings):
    create_roles()
    with run_server_in_thread() as first, run_server_in_thread() as second:
        issuers = [f"http://localhost:{server.server_port}" for server in (first, second)]
        add(issuers[0], slug="first", name="First", link_by_email=True)
        add(issuers[1], slug="second", name="Second", link_by_email=True)
        User.objects.create_user("erin", "erin@example.org")
        for issuer in issuers:
            claims = {"email": "erin@example.org", "email_verified": True}
            httpx.put(f"{issuer}/users/e-1", json=claims).raise_for_status()
        for own, other in (("first", "second"), ("second", "first")):
            back = urlsplit(
                httpx.post(begin(client, at=f"/login/with/{own}/"), data={"sub": "e-1"}).headers["Location"]
            )
            mixed_up = client.get(back.path.replace(own, other) + f"?{back.query}")
            assert (mixed_up.status_code, name_of(client)) == (403, "")
            assert client.get(f"{back.path}?{back.query}").headers["Location"] == "/"
            assert name_of(client) == "erin"
            client.logout()
    assert sorted(SocialAccount.objects.values_list("provider", "uid")) == sorted((each, "e-1") for each in issuers)


@pytest.mark.parametrize(("allowed", "status", "name"), [(False, 403, ""), (True, 302, "dora")])
def test_each_provider_says_itself_whether_its_addresses_open_accounts(client, corp, settings, allowed, status, name):
    settings.OIDC_LINK_BY_EMAIL = not allowed
    settings.OIDC_DEFAULT_ROLE = "approver"
    settings.OIDC_VERIFIED_DOMAINS = ["example.com"]
    User.objects.create_user("dora", "dora@example.org", people.PASSWORD)
    with Provider() as partner:
        add(partner.issuer, link_by_email=allowed)
        assert (log_in(client, at=AT).status_code, name_of(client)) == (status, name)
        client.logout()
        # Its people get no role of the environment's, and it does not decide which addresses are confirmed.
        partner.person |= {"sub": "n-1", "email": "new@example.com", "email_verified": None, "preferred_username": "n"}
        refused = log_in(client, at=AT)
        assert headline(refused).startswith("You are logged in at Partner, but it does not confirm your email address")


def test_groups_count_at_the_provider_that_they_are_mapped_for(client, corp, partner):
    dora = link("dora", corp)
    SocialAccount.objects.create(user=dora, provider=partner.issuer, uid="d-1")
    for issuer, value, name in ((corp.issuer, "fin", "approver"), (partner.issuer, "fin", "auditor")):
        GroupMapping.objects.create(issuer=issuer, value=value, group=Role.objects.get(name=name).group)
    corp.person["groups"] = partner.person["groups"] = ["fin"]
    for at, roles in (("", ["approver"]), (AT, ["approver", "auditor"])):
        log_in(client, at=at)
        assert sorted(roles_of(dora)) == roles
    partner.person["groups"] = []
    log_in(client, at=AT)
    assert roles_of(dora) == ["approver"]


def test_a_provider_that_is_down_says_so_within_five_seconds_and_the_others_go_on(client, corp, partner):
    link("dora", corp)
    partner.__exit__()
    began = time.monotonic()
    page = client.get(AT)
    assert (page.status_code, headline(page).startswith("Partner did not answer"), time.monotonic() - began < 5) == (
        503, True, True
    )  # fmt: skip
    assert log_in(client).status_code == 302


def test_a_provider_in_a_private_network_is_called_only_if_it_may_be(client):
    with Provider() as provider:
        add(provider.issuer, private=False)
        assert client.get(AT).status_code == 503
        assert provider.called == []
        add_again = SocialApp.objects.get()
        add_again.settings["private_hosts"] = ["127.0.0.1"]
        add_again.save()
        provider.answers["/.well-known/openid-configuration"] = (
            200,
            httpx.Response(200, json=provider.describe() | {"token_endpoint": "http://10.0.0.1/token"}).content,
        )
        assert client.get(AT).status_code == 503


def test_a_factor_of_ours_is_asked_for_after_an_added_provider_too(client, partner):
    pat = link("pat", partner)
    secret = time_codes.generate_totp_secret()
    Factor.objects.create(user=pat, type="totp", data={"secret": FactorAdapter().encrypt(secret)})
    assert log_in(client, at=AT, next="/workflows/").headers["Location"] == "/login/factor/"
    code = time_codes.format_hotp_value(time_codes.hotp_value(secret, int(time.time()) // 30))
    assert client.post("/login/factor/", {"code": code}).headers["Location"] == "/workflows/"
    assert name_of(client) == "pat"


def test_a_fresh_log_in_leads_to_the_provider_of_the_last_one(client, corp, partner):
    dora = link("dora", corp)
    SocialAccount.objects.create(user=dora, provider=partner.issuer, uid="d-1")
    for at in (AT, ""):
        log_in(client, at=at)
        sent = client.get("/login/again/", {"next": "/workflows/"}).headers["Location"]
        assert sent == f"{at or START}?again=1&next=%2Fworkflows%2F"
        to = client.get(sent).headers["Location"]
        assert came_back(client, to).headers["Location"] == "/workflows/"


def test_log_out_names_the_provider_and_its_tokens_end_its_sessions_only(corp, partner):
    link("dora", corp)
    link("pat", partner)
    described = httpx.Response(200, json=partner.describe() | {"end_session_endpoint": f"{partner.issuer}/end"})
    partner.answers["/.well-known/openid-configuration"] = 200, described.content
    sessions = {at: Client() for at in ("", AT)}
    for at, each in sessions.items():
        assert log_in(each, at=at).status_code == 302
    for at, provider in (("", partner), (AT, corp)):
        assert Client().post(f"{at or START}log-out/", {"logout_token": token(provider)}).status_code == 400
    assert Client().post(f"{AT}log-out/", {"logout_token": token(partner)}).status_code == 200
    assert [is_logged_in(each) for each in sessions.values()] == [True, False]
    log_in(sessions[AT], at=AT)
    page = parse(sessions[AT].post("/logout/").text)
    (button,) = page.find("a", class_="button")
    assert (button.words, button.attributes["href"].startswith(f"{partner.issuer}/end?")) == (
        "Log out at Partner",
        True,
    )


def test_a_secret_that_can_no_longer_be_read_gets_a_page_and_a_line_of_the_system_page(client, partner, settings):
    settings.SECRET_KEY = "another key that is long enough"
    page = client.get(AT)
    assert (page.status_code, headline(page).startswith("Partner did not answer")) == (503, True)
    client.force_login(administrator())
    words = parse(client.get("/settings/system/").text).find("main")[0].words
    assert re.search(
        r"Partner \(\S+\) cannot be used Check it under Sign-in, and at the provider: SECRET_KEY was", words
    )


def test_the_system_page_says_of_each_provider_whether_it_can_be_used(client, corp, partner):
    client.force_login(administrator())
    with Provider() as third:
        add(third.issuer, slug="third", name="Third")
        third.answers["/.well-known/openid-configuration"] = 404, b""
        words = parse(client.get("/settings/system/").text).find("main")[0].words
    assert [f"{name} ({each.issuer}) answers" in words for name, each in (("Corp", corp), ("Partner", partner))] == [
        True, True
    ]  # fmt: skip
    advice = (
        f"Check it under Sign-in, and at the provider: {third.issuer}/.well-known/openid-configuration: answered 404"
    )
    assert advice in words


def test_metrics_count_log_ins_by_their_way_outcome_and_provider(client, corp, monkeypatch):
    monkeypatch.setattr(metrics, "SETTLE", timedelta(0))
    counted = metrics.Metrics()
    log_in(client)
    link("dora", corp)
    log_in(client)
    client.logout()
    client.post("/login/", {"username": "dora", "password": "guess"})
    with Provider() as removed, Provider() as away:
        for other, slug in ((removed, "removed"), (away, "away")):
            add(other.issuer, slug=slug)
            log_in(client, at=f"/login/with/{slug}/")
        remove_provider(removed.issuer, by=administrator("root"))
    assert client.get("/login/with/away/").status_code == 503
    for _ in range(2):
        lines = [line for line in counted.text().decode().splitlines() if line.startswith("pausepoint_logins_total")]
        assert sorted(lines) == [
            'pausepoint_logins_total{by="password",outcome="failed",provider=""} 1.0',
            'pausepoint_logins_total{by="single_sign_on",outcome="failed",provider="away"} 1.0',
            'pausepoint_logins_total{by="single_sign_on",outcome="failed",provider="environment"} 1.0',
            'pausepoint_logins_total{by="single_sign_on",outcome="failed",provider="other"} 1.0',
            'pausepoint_logins_total{by="single_sign_on",outcome="succeeded",provider="environment"} 1.0',
            'pausepoint_logins_total{by="single_sign_on",outcome="unavailable",provider="away"} 1.0',
        ]
