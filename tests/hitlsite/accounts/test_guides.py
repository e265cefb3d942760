"""The guides on single sign-on, second factors and break glass, followed to the letter against a provider on loopback."""

from __future__ import annotations

import json
import re
import shlex
from io import StringIO
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from approvals.administration.people.actions import add_person, create_roles, invite_person
from approvals.administration.people.queries import roles_of
from approvals.models import AuditEntry, Role
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.openid_provider import CLIENT, Provider, begin, came_back, use
from tests.support.people import PASSWORD
from tests.support.root import ROOT

pytestmark = pytest.mark.django_db


def guide(name: str) -> str:
    return " ".join((ROOT / "docs" / "how-to" / f"{name}.md").read_text().split())


def run_command(page: str, name: str, **placeholders: str) -> str:
    """Run a command of a guide as it stands there, with your names in place of the placeholders."""
    (line,) = re.findall(rf"manage\.py ({name} [^`]+?) ```", page)
    for placeholder, value in placeholders.items():
        line = line.replace(placeholder, value)
    out = StringIO()
    call_command(*shlex.split(line), stdout=out)
    return out.getvalue().strip()


def words(client: Client, address: str) -> str:
    return parse(client.get(address).text).words


def test_single_sign_on(settings):
    page = guide("single-sign-on")
    with Provider() as provider:
        # Set up Pausepoint: the four variables of the guide, and the host, because this provider is on this machine.
        assert re.findall(r"(OIDC_\w+)=", page)[:4] == [
            "OIDC_ISSUER",
            "OIDC_CLIENT_ID",
            "OIDC_CLIENT_SECRET",
            "OIDC_NAME",
        ]
        use(settings, provider.issuer, OIDC_CLIENT_ID=CLIENT["client_id"])
        assert "**Continue with Corp**" in page
        assert "Continue with Corp" in words(Client(), "/login/")
        root = User.objects.create_superuser("root")
        admin = Client()
        admin.force_login(root)
        assert "Corp" in words(admin, "/settings/system/")
        # Register Pausepoint at your provider: the address that it gets is the one of the guide.
        client = Client()
        start = begin(client)
        assert "`/login/sso/callback/`" in page
        assert (
            f"redirect_uri={settings.PUBLIC_URL}/login/sso/callback/".replace(":", "%3A").replace("/", "%2F") in start
        )
        # Who gets in: an invited person gets their account.
        create_roles()
        invited = add_person(username="dora", email="dora@example.org", roles=["requester"], by=root)
        invite_person(invited.pk, mailed=True, by=root)
        assert came_back(client, start).status_code == 302
        assert client.session["_auth_user_id"] == str(invited.pk)


OBJECT_ID = "5a1fd7c6-0c0e-4c8e-9f0e-0d4f3ce1a0aa"
OKTA_SCOPES = ["openid", "profile", "email", "groups"]
#: What the guide says of each provider, which ours behaves like: what it sends, our settings, and whether it ends its session.
PROVIDERS = [
    ("| Microsoft Entra |", "| its object ID |", {"email_verified": None, "groups": [OBJECT_ID]}, {}, True),
    ("| Okta |", "`OIDC_SCOPES=openid,profile,email,groups` | its name |", {"groups": ["Finance"]}, {}, True),
    ("| Google Workspace |", "| sends no groups | |", {}, {"auth_time": None}, False),
    ("| Keycloak |", "| its path, such as `/finance` |", {"groups": ["/finance"]}, {}, True),
]


@pytest.mark.parametrize(("row", "words_on_groups", "person", "claims", "ends"), PROVIDERS)
def test_each_provider_of_the_guide_on_single_sign_on(settings, row, words_on_groups, person, claims, ends):
    page = guide("single-sign-on")
    # Register Pausepoint at your provider, and: Roles and teams from groups.
    assert page.count(row) == 2
    assert words_on_groups in page
    create_roles()
    root = User.objects.create_superuser("root")
    with Provider() as provider:
        use(settings, provider.issuer, OIDC_VERIFIED_DOMAINS=["example.org"] if "Entra" in row else [])
        if "Okta" in row:
            settings.OIDC_SCOPES = OKTA_SCOPES
        provider.person |= person
        provider.claims = claims
        if ends:
            described = provider.describe() | {"end_session_endpoint": f"{provider.issuer}/end"}
            provider.answers["/.well-known/openid-configuration"] = 200, json.dumps(described).encode()
        invited = add_person(username="dora", email="dora@example.org", roles=["requester"], by=root)
        invite_person(invited.pk, mailed=True, by=root)
        for value in person.get("groups", []):
            group = Role.objects.get(name="auditor").group_id
            mapping = {"issuer": provider.issuer, "value": value, "group": group}
            assert browser(root).post("/settings/single-sign-on/", mapping).status_code == 302
        client = Client()
        start = begin(client)
        (scope,) = parse_qs(urlsplit(start).query)["scope"]
        assert ("groups" in scope.split()) == ("Okta" in row)
        assert came_back(client, start).status_code == 302
        assert client.session["_auth_user_id"] == str(invited.pk)
        assert sorted(roles_of(invited)) == sorted(["requester"] + ["auditor"] * ("groups" in person))
        # Decisions that need a fresh log-in: Google states no time.
        fresh = came_back(client, begin(client, again="1"))
        assert (fresh.status_code, "Google states none" in page) == (302 if ends else 403, True)
        # Log-out.
        assert "(Google's has none)" in page
        left = client.post("/logout/")
        assert (f"{provider.issuer}/end" in left.text) == ends


def test_the_last_administrator_has_lost_the_phone():
    root = User.objects.create_superuser("root", password=PASSWORD)
    Authenticator.objects.create(user=root, type="totp", data={"secret": ""})
    run_command(guide("second-factors"), "resetfactors", NAME="root")
    client = Client()
    log_in = client.post("/login/", {"username": "root", "password": PASSWORD})
    assert (log_in.headers["Location"], "Set up an authenticator app" in words(client, "/settings/sign-in/")) == (
        "/",
        True,
    )


def test_break_glass_while_the_provider_is_down(settings):
    page = guide("break-glass-when-sign-on-is-down")
    create_roles()
    # Prepare the account.
    administrator("break-glass")
    assert run_command(page, "breakglass") == "break-glass"
    with Provider() as provider:
        use(settings, provider.issuer, OIDC_ONLY=True)
    # Use it: the provider is down.
    client = Client()
    assert client.get("/login/sso/").status_code == 503
    assert "**Break-glass account**" in page
    assert parse(client.get("/login/").text).find("summary")[0].words == "Break-glass account"
    log_in = client.post("/login/", {"username": "break-glass", "password": PASSWORD})
    assert log_in.headers["Location"] == "/"
    assert "did not answer" in words(client, "/settings/system/") or "Corp" in words(client, "/settings/system/")
    assert AuditEntry.objects.filter(event="login.break_glass").count() == 1
    # Log out, change the password, and seal it again.
    assert client.get("/password/").status_code == 200
