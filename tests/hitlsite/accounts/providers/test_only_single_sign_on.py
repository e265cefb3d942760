"""Single sign-on only: passwords are refused, except that of the break-glass account, whose log-ins are on record."""

from __future__ import annotations

from io import StringIO

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.http import int_to_base36

from approvals.administration.people.actions import create_roles, set_active
from approvals.models import AuditEntry, BreakGlassAccount, GroupMapping, Role
from hitlsite.checks import check_set_up
from tests.approvals.administration.people.test_people import administrator
from tests.hitlsite.accounts.test_passwords import sent
from tests.support.markup import parse
from tests.support.openid_provider import Provider, log_in, use
from tests.support.people import PASSWORD

pytestmark = pytest.mark.django_db
NO_PASSWORDS = "Passwords and passkeys are switched off here. Go to the log-in page, and continue with Corp."


@pytest.fixture
def provider(settings):
    """A provider, and Dora and the break-glass account, who have passwords."""
    create_roles()
    with Provider() as provider:
        use(settings, provider.issuer, OIDC_ONLY=True)
        administrator("dora")
        administrator("spare")
        breakglass("--user", "spare")
        yield provider


def breakglass(*arguments: str) -> str:
    out = StringIO()
    call_command("breakglass", *arguments, stdout=out)
    return out.getvalue().strip()


def log_in_with_password(client: Client, name: str, password: str = PASSWORD):
    return client.post("/login/", {"username": name, "password": password})


def headline(response) -> str:
    return parse(response.text).find("h1")[0].words


def entries() -> list[tuple[str, str]]:
    return list(AuditEntry.objects.exclude(event="sign_in.changed").order_by("pk").values_list("event", "actor_name"))


def test_only_the_break_glass_account_logs_in_with_its_password_and_that_is_on_record(client, provider):
    for name, password in (("dora", PASSWORD), ("spare", "wrong"), ("no one", PASSWORD), ("SPARE", PASSWORD)):
        refused = log_in_with_password(client, name, password)
        assert parse(refused.text).find("p", class_="refusal")[0].words == "Wrong username or password."
    assert log_in_with_password(client, "spare").status_code == 302
    assert entries() == [
        *[("login.failed", "")] * 4,
        ("login.succeeded", "spare"),
        ("login.break_glass", "spare"),
    ]


def test_refused_passwords_count_towards_the_limit_even_if_they_are_right(client, provider, settings):
    settings.ACCOUNT_RATE_LIMITS = {"login_failed": "2/300s/key"}
    assert [log_in_with_password(client, "dora").status_code for _ in range(3)] == [200, 200, 429]


def test_the_log_in_page_folds_the_form_away(client, provider, settings):
    page = parse(client.get("/login/").text)
    assert page.find("summary")[0].words == "Break-glass account"
    assert page.find("details")[0].find("input", name="password") != []
    settings.OIDC_ONLY = False
    assert parse(client.get("/login/").text).find("details") == []


def test_links_that_set_a_password_set_none(client, provider, settings):
    dora = User.objects.get(username="dora")
    link = f"/password/reset/{int_to_base36(dora.pk)}/{default_token_generator.make_token(dora)}/"
    refused = client.get(link, follow=True)
    assert (refused.status_code, headline(refused)) == (403, NO_PASSWORDS)
    settings.OIDC_ONLY = False
    form = client.get(link).headers["Location"]
    settings.OIDC_ONLY = True
    chosen = {"password1": "another one 44", "password2": "another one 44"}
    assert client.post(form, chosen).status_code == 403
    dora.refresh_from_db()
    assert dora.check_password(PASSWORD) is True


def test_no_mail_with_such_a_link_is_sent_except_to_the_break_glass_account(client, provider):
    for name in ("dora", "spare"):
        User.objects.filter(username=name).update(email=f"{name}@example.org")
        client.post("/password/reset/", {"email": f"{name}@example.org"})
    assert [each.to for each in sent()] == [["spare@example.org"]]


def test_people_with_a_password_log_in_again_at_the_provider_and_cannot_change_it(client, provider):
    client.force_login(User.objects.get(username="dora"))
    assert client.get("/login/again/").headers["Location"].startswith("/login/sso/?again=1")
    refused = client.post("/login/again/", {"password": PASSWORD})
    assert refused.headers["Location"].startswith("/login/sso/?again=1")
    assert headline(client.get("/password/")) == NO_PASSWORDS
    client.force_login(User.objects.get(username="spare"))
    assert client.post("/login/again/", {"password": PASSWORD}).status_code == 302
    assert client.get("/password/").status_code == 200


def test_people_who_are_logged_in_go_on(client, provider):
    client.force_login(User.objects.get(username="dora"))
    assert client.get("/").status_code == 200


def test_the_break_glass_account_is_neither_linked_nor_mapped(client, provider, settings):
    settings.OIDC_LINK_BY_EMAIL = True
    spare = User.objects.get(username="spare")
    User.objects.filter(pk=spare.pk).update(email="dora@example.org")
    assert (log_in(client).status_code, SocialAccount.objects.count()) == (403, 0)
    SocialAccount.objects.create(user=spare, provider=provider.issuer, uid="d-1")
    administrators = Role.objects.get(name="administrator").group
    GroupMapping.objects.create(issuer=provider.issuer, value="adm", group=administrators)
    assert log_in(client).status_code == 302
    assert list(spare.groups.values_list("name", flat=True)) == ["Administrator"]


def test_the_command_names_one_account_that_could_help_on_record(provider):
    assert breakglass() == "spare"
    assert breakglass("--user", "dora") == "dora"
    assert list(BreakGlassAccount.objects.values_list("person__username", flat=True)) == ["dora"]
    User.objects.create_user("erin", password=PASSWORD)
    User.objects.create_superuser("bare")
    User.objects.filter(username="spare").update(is_active=False)
    for name in ("erin", "bare", "spare"):
        with pytest.raises(CommandError, match="A break-glass account must be active, have a password, and be"):
            breakglass("--user", name)
    with pytest.raises(CommandError, match="No user is named 'x'"):
        breakglass("--user", "x")
    BreakGlassAccount.objects.all().delete()
    assert breakglass() == "none"
    changes = [entry.data["change"] for entry in AuditEntry.objects.filter(event="sign_in.changed").order_by("pk")]
    assert changes == ["break-glass account"] * 2


def test_the_system_page_warns_if_no_one_could_break_glass(client, provider, settings):
    client.force_login(User.objects.get(username="dora"))

    def line() -> str:
        words = parse(client.get("/settings/system/").text).find("main")[0].words
        return words.partition("Break-glass account ")[2].partition(" Second factors")[0]

    assert line().removesuffix(" Works:") == "spare"
    set_active(User.objects.get(username="spare").pk, active=False, by=User.objects.get(username="dora"))
    assert line().startswith("None that could log in No one can log in while the provider is down.")
    settings.OIDC_ONLY = False
    assert line() == ""


def test_without_a_provider_the_setting_is_an_error_at_the_start(settings):
    settings.OIDC_ONLY = True
    assert [error.id for error in check_set_up() if error.is_serious()] == ["hitlsite.E004"]
