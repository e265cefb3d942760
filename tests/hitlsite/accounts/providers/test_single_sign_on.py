"""Single sign-on with providers on loopback: who enters as whom, and what the record says."""

from __future__ import annotations

import time
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from allauth.mfa.models import Authenticator as Factor
from allauth.mfa.totp.internal import auth as time_codes
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.utils import timezone
from oidc_provider_mock import run_server_in_thread

from approvals.access.fresh_sign_in import is_fresh
from approvals.access.sessions import signed_in_at
from approvals.administration.people.actions import create_roles
from approvals.administration.people.queries import roles_of
from approvals.models import AuditEntry, Invitation
from hitlsite.accounts.factor_forms import FactorAdapter
from hitlsite.checks import check_set_up
from tests.approvals.administration.people.test_people import administrator
from tests.support import people
from tests.support.markup import parse
from tests.support.openid_provider import Provider, begin, came_back, log_in, use

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings):
    with Provider() as provider:
        use(settings, provider.issuer)
        yield provider


def make_dora(**fields) -> User:
    return User.objects.create_user("dora", "dora@example.org", **fields)


def invite(person: User, *, days: int = 1) -> None:
    now = timezone.now()
    Invitation.objects.create(person=person, sent_at=now, expires_at=now + timedelta(days=days), invited_by="root")


def link(person: User, provider: Provider, subject: str = "d-1") -> None:
    SocialAccount.objects.create(user=person, provider=provider.issuer, uid=subject)


def name_of(client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def entries() -> list[tuple[str, str, dict]]:
    return [(entry.event, entry.actor_name, entry.data) for entry in AuditEntry.objects.order_by("pk")]


def headline(response) -> str:
    return parse(response.text).find("h1")[0].words


def test_the_log_in_page_leads_to_the_provider_with_pkce_state_and_nonce(client, provider):
    page = parse(client.get("/login/", {"next": "/audit/?q=a&b"}).text)
    button = next(each for each in page.find("a", class_="button") if each.words == "Continue with Corp")
    assert button.attributes["href"] == "/login/sso/?next=%2Faudit%2F%3Fq%3Da%26b"
    address = urlsplit(client.get(button.attributes["href"]).headers["Location"])
    query = dict(parse_qsl(address.query))
    assert (address.netloc, address.path) == (urlsplit(provider.issuer).netloc, "/authorize")
    assert {name: query.pop(name) for name in ("redirect_uri", "response_type", "code_challenge_method")} == {
        "redirect_uri": "http://127.0.0.1:8000/login/sso/callback/",
        "response_type": "code",
        "code_challenge_method": "S256",
    }
    assert set(query.pop("scope").split()) == {"openid", "email", "profile"}
    assert sorted(query) == ["client_id", "code_challenge", "nonce", "state"]


def test_without_a_provider_the_log_in_page_has_no_button_and_the_addresses_do_not_exist(client):
    assert "Continue with" not in client.get("/login/").text
    assert [client.get(f"/login/sso/{end}").status_code for end in ("", "callback/")] == [404, 404]


def test_a_known_person_is_found_by_issuer_and_subject_and_returns_to_next(client, provider):
    link(make_dora(), provider)
    provider.person |= {"email": "dora.new@example.org", "preferred_username": "someone"}
    response = log_in(client, next="/workflows/")
    assert (response.status_code, response.headers["Location"], name_of(client)) == (302, "/workflows/", "dora")


def test_a_factor_of_ours_is_asked_for_after_the_provider(client, provider):
    dora = make_dora()
    link(dora, provider)
    secret = time_codes.generate_totp_secret()
    Factor.objects.create(user=dora, type="totp", data={"secret": FactorAdapter().encrypt(secret)})
    stated = int(time.time()) - 100
    provider.claims["auth_time"] = stated
    assert log_in(client, next="/workflows/").headers["Location"] == "/login/factor/"
    assert name_of(client) == ""
    code = time_codes.format_hotp_value(time_codes.hotp_value(secret, int(time.time()) // 30))
    assert client.post("/login/factor/", {"code": code}).headers["Location"] == "/workflows/"
    assert name_of(client) == "dora"
    details = {"address": "127.0.0.1", "provider": provider.issuer, "factor": "totp"}
    assert entries()[-1] == ("login.succeeded", "dora", details)
    records = client.session["account_authentication_methods"]
    assert [record["method"] for record in records] == ["socialaccount", "mfa"]
    assert records[0]["at"] == stated


def test_next_never_leads_to_another_host(client, provider):
    link(make_dora(), provider)
    assert log_in(client, next="https://evil.example/").headers["Location"] == "/"


def test_the_same_subject_at_another_provider_is_someone_else(client, provider, settings):
    link(make_dora(), provider)
    with Provider() as other:
        use(settings, other.issuer)
        assert (log_in(client).status_code, name_of(client)) == (403, "")


def test_names_and_addresses_follow_the_provider_on_record(client, provider, mailoutbox):
    dora = make_dora()
    link(dora, provider)
    provider.person |= {"email": "dora.new@example.org", "name": "Dora  Miller"}
    log_in(client)
    dora.refresh_from_db()
    assert (dora.email, dora.first_name) == ("dora.new@example.org", "Dora Miller")
    about = {"user": "dora", "user_id": dora.pk}
    moved = {"before": {"email": "dora@example.org"}, "after": {"email": "dora.new@example.org"}}
    assert [entry for entry in entries() if "display_name" not in str(entry)] == [
        ("person.changed", "", about | moved | {"provider": provider.issuer}),
        ("login.succeeded", "dora", {"address": "127.0.0.1", "provider": provider.issuer}),
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"email": "dora.new@example.org", "email_verified": False},
        {"email": ["a@example.org"]},
        {"email": "no address"},
        {"name": "Root (@root)"},
        {"name": "B\0b"},
        {"name": "Bob"},
        {"name": 7},
        {"name": "x" * 10_000},
    ],
)
def test_unconfirmed_addresses_and_misleading_names_are_not_taken_over(client, provider, changed):
    people.bob()
    dora = make_dora()
    link(dora, provider)
    provider.person |= changed
    assert log_in(client).status_code == 302
    dora.refresh_from_db()
    assert (dora.email, dora.first_name) == ("dora@example.org", "")


def test_an_invited_person_enters_once_the_provider_confirms_their_address(client, provider):
    dora = make_dora()
    invite(dora)
    assert log_in(client).status_code == 302
    assert (name_of(client), Invitation.objects.count()) == ("dora", 0)
    at = {"address": "127.0.0.1", "provider": provider.issuer}
    assert entries() == [("invitation.accepted", "dora", at), ("login.succeeded", "dora", at)]
    client.logout()
    provider.person["email"] = ""
    log_in(client)
    assert name_of(client) == "dora"


@pytest.mark.parametrize(
    ("verified", "days", "reason"),
    [
        (False, 1, "Corp, but it does not confirm your email address"),
        (None, 1, "Corp, but it does not confirm your email address"),
        (True, -1, "Ask an administrator to invite dora@example.org"),
    ],
)
def test_an_address_that_is_not_confirmed_and_an_expired_invitation_let_no_one_in(
    client, provider, verified, days, reason
):
    invite(make_dora(), days=days)
    provider.person["email_verified"] = verified
    refused = log_in(client)
    assert (refused.status_code, reason in headline(refused), name_of(client)) == (403, True, "")
    about = {"name": "", "address": "127.0.0.1", "provider": provider.issuer, "reason": "no_account"}
    assert entries() == [("login.failed", "", about)]
    assert SocialAccount.objects.count() == 0


def test_addresses_of_the_listed_domains_count_as_confirmed(client, provider, settings):
    settings.OIDC_VERIFIED_DOMAINS = ["example.org"]
    invite(make_dora())
    provider.person["email_verified"] = None
    log_in(client)
    assert name_of(client) == "dora"


@pytest.mark.parametrize(("allowed", "status", "name"), [(False, 403, ""), (True, 302, "dora")])
def test_an_existing_account_is_linked_by_its_address_only_if_the_setting_says_so(
    client, provider, settings, allowed, status, name
):
    settings.OIDC_LINK_BY_EMAIL = allowed
    make_dora(password=people.PASSWORD)
    assert (log_in(client).status_code, name_of(client)) == (status, name)


@pytest.mark.parametrize("rank", ["is_superuser", "is_staff"])
def test_superusers_and_staff_are_never_linked_by_their_address(client, provider, settings, rank):
    settings.OIDC_LINK_BY_EMAIL = True
    make_dora(**{rank: True})
    assert (log_in(client).status_code, SocialAccount.objects.count()) == (403, 0)


def test_an_address_of_two_accounts_or_of_a_linked_one_links_no_one(client, provider, settings):
    settings.OIDC_LINK_BY_EMAIL = True
    link(make_dora(), provider, "d-0")
    assert log_in(client).status_code == 403
    User.objects.create_user("dora2", "dora@example.org")
    User.objects.create_user("dora3", "DORA@example.org")
    assert log_in(client).status_code == 403


def test_a_new_person_gets_the_default_role_and_no_password(client, provider, settings):
    create_roles()
    settings.OIDC_DEFAULT_ROLE = "auditor"
    log_in(client)
    dora = User.objects.get(username="dora")
    assert (roles_of(dora), dora.email, dora.has_usable_password()) == (["auditor"], "dora@example.org", False)
    about = {"user": "dora", "user_id": dora.pk, "email": "dora@example.org", "roles": ["auditor"]}
    assert entries()[0] == ("person.created", "", about | {"provider": provider.issuer})


@pytest.mark.parametrize(
    ("taken", "preferred", "name"),
    [
        (["dora"], "dora", "dora@example.org"),
        (["D0ra"], "dora", "dora@example.org"),
        ([], "do ra", "dora@example.org"),
        ([], "system", "dora@example.org"),
        (["dora", "Dora@example.org"], "dora", ""),
    ],
)
def test_a_new_person_never_gets_a_name_that_is_taken_or_misleads(client, provider, settings, taken, preferred, name):
    create_roles()
    settings.OIDC_DEFAULT_ROLE = "requester"
    for username in taken:
        User.objects.create_user(username)
    provider.person["preferred_username"] = preferred
    log_in(client)
    assert name_of(client) == name


def test_a_deactivated_person_is_told_so(client, provider):
    link(make_dora(is_active=False), provider)
    refused = log_in(client)
    assert (refused.status_code, name_of(client)) == (403, "")
    assert headline(refused) == "Your account is deactivated. Ask an administrator to activate it."


def test_the_time_of_a_log_in_is_the_one_that_the_provider_states(client, provider):
    link(make_dora(), provider)
    for stated, known in ((int(time.time()) - 4000, True), (None, False), ("now", False), (2**40, False)):
        provider.claims["auth_time"] = stated
        log_in(client)
        assert signed_in_at(client.session).timestamp() == (stated if known else 0)


def test_logging_in_again_asks_the_provider_for_a_fresh_log_in(client, provider):
    dora = make_dora()
    link(dora, provider)
    client.force_login(dora)
    sent = client.get("/login/again/", {"next": "/workflows/"})
    assert sent.headers["Location"] == "/login/sso/?again=1&next=%2Fworkflows%2F"
    to = client.get(sent.headers["Location"]).headers["Location"]
    query = dict(parse_qsl(urlsplit(to).query))
    assert (query["prompt"], query["max_age"]) == ("login", "0")
    assert came_back(client, to).headers["Location"] == "/workflows/"


@pytest.mark.parametrize("stated", [None, 1])
def test_a_provider_that_does_not_confirm_a_fresh_log_in_is_refused_and_the_session_stays(client, provider, stated):
    dora = make_dora()
    link(dora, provider)
    client.force_login(dora)
    provider.claims["auth_time"] = stated
    assert (log_in(client, again="1").status_code, name_of(client)) == (403, "dora")


def test_with_such_a_provider_an_app_gives_a_fresh_log_in_as_the_refusal_says(client, provider):
    link(make_dora(), provider)
    provider.claims["auth_time"] = None
    log_in(client)
    advice = "A passkey or an authenticator app can do so in its place: log out, log in again, and set one up in your settings"
    assert advice in parse(log_in(client, again="1").text).find("main")[0].words
    client.post("/logout/")
    log_in(client)
    client.get("/settings/sign-in/app/")
    secret = client.session["mfa.totp.secret"]
    step = int(time.time()) // 30
    before, now = (time_codes.format_hotp_value(time_codes.hotp_value(secret, each)) for each in (step - 1, step))
    added = client.post("/settings/sign-in/app/", {"code": before})
    assert added.headers["Location"] == "/settings/sign-in/recovery-codes/"
    assert is_fresh(signed_in_at(client.session))
    again = client.post("/login/again/", {"code": now, "next": "/workflows/"})
    assert again.headers["Location"] == "/workflows/"


def test_a_parameter_of_the_address_cannot_link_an_account_or_change_what_is_asked(client, provider):
    client.force_login(people.bob())
    to = begin(client, process="connect", scope="admin", auth_params="prompt=none")
    query = dict(parse_qsl(urlsplit(to).query))
    assert ("prompt" in query, "admin" in query["scope"]) == (False, False)
    assert (came_back(client, to).status_code, SocialAccount.objects.count()) == (403, 0)


def test_the_admin_shows_no_providers_links_or_tokens(client):
    client.force_login(User.objects.create_superuser("root"))
    for name in ("socialapp", "socialaccount", "socialtoken"):
        assert client.get(f"/admin/socialaccount/{name}/").status_code == 404


def line_of_system_page(client) -> str:
    rows = parse(client.get("/settings/system/").text).find("div", class_="settings-main")[0].words
    return (
        rows[rows.index("Single sign-on") :]
        .partition(" Device notifications")[0]
        .partition(" Works: Second factors")[0]
        .removesuffix(" Needs attention:")
    )


def test_the_system_page_says_whether_the_provider_can_be_used(client, provider, settings):
    client.force_login(administrator())
    assert line_of_system_page(client) == f"Single sign-on Corp ({provider.issuer}) answers"
    provider.answers["/.well-known/openid-configuration"] = 404, b""
    line = line_of_system_page(client)
    assert f"Corp ({provider.issuer}) cannot be used" in line
    url = f"{provider.issuer}/.well-known/openid-configuration"
    assert line.endswith(f"Check it under Sign-in, and at the provider: {url}: answered 404")
    settings.OIDC_ISSUER = ""
    assert line_of_system_page(client) == "Single sign-on Not used: people log in with passwords"


@pytest.mark.parametrize(
    ("more", "errors"),
    [
        ({}, []),
        ({"OIDC_CLIENT_ID": ""}, ["hitlsite.E002"]),
        ({"OIDC_CLIENT_SECRET": ""}, ["hitlsite.E002"]),
        ({"OIDC_PRIVATE_HOSTS": ["localhost"]}, ["hitlsite.E003"]),
    ],
)
def test_settings_that_cannot_work_are_errors_at_the_start(settings, more, errors):
    use(settings, "http://127.0.0.1:1", **more)
    assert [error.id for error in check_set_up() if error.is_serious()] == errors


def test_too_many_log_ins_from_one_address_get_429(client, provider, settings):
    settings.ACCOUNT_RATE_LIMITS = {"single_sign_on": "2/300s/ip"}
    assert [client.get("/login/sso/").status_code for _ in range(3)] == [302, 302, 429]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider's own libraries
def test_a_person_of_another_implementation_logs_in(client, settings):
    create_roles()
    with run_server_in_thread() as server:
        issuer = f"http://localhost:{server.server_port}"
        use(settings, issuer, OIDC_DEFAULT_ROLE="requester")
        claims = {"email": "erin@example.org", "email_verified": True, "preferred_username": "erin"}
        httpx.put(f"{issuer}/users/e-1", json=claims).raise_for_status()
        back = urlsplit(httpx.post(begin(client), data={"sub": "e-1"}).headers["Location"])
        assert client.get(f"{back.path}?{back.query}").headers["Location"] == "/"
    assert name_of(client) == "erin"
