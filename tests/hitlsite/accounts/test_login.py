"""Logging in: messages, audit entries, and the parts of allauth that are not routed."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from approvals.models import AuditEntry
from hitlsite.accounts import urls as accounts
from hitlsite.urls import urlpatterns as ours
from tests.support import people
from tests.support.markup import parse

pytestmark = pytest.mark.django_db

#: Names of allauth's URLs for features that this site lacks.
ELSEWHERE = ["signup", "email", "confirm_email", "set_password", "request_login_code", "inactive"]


#: This module as a urlconf: a site that cannot send mail.
urlpatterns = [entry for entry in ours if getattr(entry, "urlconf_name", None) != accounts]
urlpatterns += [entry for entry in accounts.urlpatterns if "reset" not in str(entry.pattern)]


def send(client: Client, name: str, password: str = people.PASSWORD, **more: str):
    return client.post("/login/", {"username": name, "password": password}, **more)


def entries() -> list[tuple[str, str, dict[str, str]]]:
    return [(entry.event, entry.actor_name, entry.data) for entry in AuditEntry.objects.order_by("pk")]


def refusal(answer) -> list[str]:
    return [line.words for line in parse(answer.text).find("p", class_="refusal")]


def is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize(
    ("name", "password"),
    [("alice", "guess"), ("nobody", people.PASSWORD), ("alice", ""), ("", ""), ("alice\0", "x"), ("a" * 151, "x")],
)
def test_a_wrong_name_and_a_wrong_password_get_the_same_message(client, name, password):
    people.alice()
    refused = send(client, name, password)
    assert (refused.status_code, refusal(refused)) == (200, ["Wrong username or password."])
    assert not is_logged_in(client)


@pytest.mark.parametrize("name", ["alice", '"><script>alert(1)</script>', "a" * 1000])
def test_a_failed_log_in_keeps_the_name_but_not_the_password(client, name):
    form = parse(send(client, name, "guess").text).find("form")[0]
    values = {one.attributes["name"]: one.attributes.get("value") for one in form.find("input")}
    assert (values["username"], values["password"]) == (name[:150], None)


def test_a_deactivated_account_gets_the_same_message(client):
    alice = people.alice()
    alice.is_active = False
    alice.save()
    assert refusal(send(client, "alice")) == ["Wrong username or password."]
    assert not is_logged_in(client)


def test_a_username_is_normalized_as_at_creation(client):
    people.make_person("ﬁona".replace("ﬁ", "fi"))
    assert send(client, " ﬁona ").status_code == 302


def test_log_ins_are_audited_and_logged(client, caplog):
    people.alice()
    caplog.set_level("INFO", "hitlsite")
    send(client, "alice", "guess", REMOTE_ADDR="192.0.2.1")
    send(client, "alice", REMOTE_ADDR="192.0.2.1")
    assert entries() == [
        ("login.failed", "", {"name": "alice", "address": "192.0.2.1"}),
        ("login.succeeded", "alice", {"address": "192.0.2.1"}),
    ]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "Failed log-in as 'alice' from 192.0.2.1"),
        ("INFO", "Log-in as 'alice' from 192.0.2.1"),
    ]


def test_an_unknown_name_is_not_recorded_because_it_may_be_a_password(client, caplog):
    send(client, "hunter2\nINFO forged")
    assert entries() == [("login.failed", "", {"name": "", "address": "127.0.0.1"})]
    assert [record.getMessage() for record in caplog.records] == ["Failed log-in as no known user from 127.0.0.1"]


def test_an_empty_form_does_not_count_as_a_failed_log_in(client):
    send(client, "", "")
    assert entries() == []


def test_a_logged_in_user_is_redirected_to_next(client):
    client.force_login(people.alice())
    assert client.get("/login/", {"next": "/workflows/"}).headers["Location"] == "/workflows/"
    assert client.get("/login/").headers["Location"] == "/"


@pytest.mark.parametrize(
    "elsewhere",
    ["http://testserver/", "https://shop.example/", "https://sub.desk.example/", "//testserver:1/", "/\\x.example"],
)
def test_next_never_leads_to_another_host_or_to_http(client, settings, elsewhere):
    settings.ALLOWED_HOSTS = ["testserver", ".desk.example", "sub.desk.example"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://shop.example"]
    people.alice()
    sent = client.post("/login/", {"username": "alice", "password": people.PASSWORD, "next": elsewhere}, secure=True)
    assert (sent.status_code, sent.headers["Location"]) == (302, "/")


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_the_log_in_responds_only_with_pages(client, accept):
    people.alice()
    for headers in ({"Accept": accept}, {"X-Requested-With": "XMLHttpRequest"}):
        assert client.get("/login/", headers=headers).headers["Content-Type"].startswith("text/html")
        assert client.post("/login/", {}, headers=headers).headers["Content-Type"].startswith("text/html")


def test_the_admin_uses_the_log_in_of_the_site(client):
    User.objects.create_superuser("root", password=people.PASSWORD)
    for answer in (client.get("/admin/login/"), client.post("/admin/login/", {"username": "root", "password": "x"})):
        assert (answer.status_code, answer.headers["Location"]) == (302, "/login/?next=/admin/")
    assert send(client, "root", QUERY_STRING="next=/admin/auth/user/").headers["Location"] == "/admin/auth/user/"
    assert client.get("/admin/login/").headers["Location"] == "/login/?next=/admin/"
    assert client.get("/admin/login/", follow=True).redirect_chain[-1] == ("/admin/", 302)
    assert client.get("/admin/password_change/").headers["Location"] == "/password/"


def test_the_admin_refuses_users_who_are_not_staff(client):
    client.force_login(people.alice())
    answer = client.get("/admin/", follow=True)
    assert (answer.redirect_chain, answer.status_code) == ([("/admin/login/?next=/admin/", 302)], 403)


def test_the_log_in_page_links_to_the_password_reset_if_it_exists(client, settings):
    assert 'href="/password/reset/"' in client.get("/login/").text
    settings.ROOT_URLCONF = __name__
    assert "Forgot" not in client.get("/login/").text


@pytest.mark.parametrize("name", ELSEWHERE)
def test_sign_up_and_mail_addresses_are_not_routed(name):
    with pytest.raises(NoReverseMatch):
        reverse(f"account_{name}")


def test_only_log_in_password_and_factor_pages_of_allauth_are_routed():
    names = {str(name) for name in get_resolver().reverse_dict if str(name).startswith(("account_", "social", "mfa_"))}
    assert names == {
        "account_login",
        "account_change_password",
        "account_reauthenticate",
        "account_reset_password",
        "account_reset_password_done",
        "account_reset_password_from_key",
        "mfa_activate_totp",
        "mfa_add_webauthn",
        "mfa_authenticate",
        "mfa_deactivate_totp",
        "mfa_generate_recovery_codes",
        "mfa_index",
        "mfa_login_webauthn",
        "mfa_remove_webauthn",
        "mfa_view_recovery_codes",
    }


@pytest.mark.parametrize(
    "address", ["/accounts/signup/", "/signup/", "/account/email/", "/accounts/", "/accounts/social/"]
)
def test_the_default_urls_of_allauth_do_not_exist(client, address):
    client.force_login(people.alice())
    assert client.get(address).status_code == 404


def test_the_admin_does_not_show_mail_addresses_or_factors(client):
    client.force_login(User.objects.create_superuser("root"))
    assert client.get("/admin/account/emailaddress/").status_code == 404
    assert client.get("/admin/mfa/authenticator/").status_code == 404


def test_a_form_sent_without_a_session_leads_back_to_its_page_after_the_log_in():
    client = Client()
    for sender, place in (
        ("http://testserver/?tool=pay", "/login/?next=%2F%3Ftool%3Dpay"),
        ("https://evil.example/", "/login/"),
    ):
        refused = client.post("/bulk/", headers={"Referer": sender})
        assert (refused.status_code, refused.headers["Location"]) == (302, place)
        refused = client.post("/bulk/", headers={"Referer": sender} | {"HX-Request": "true"})
        assert (refused.status_code, refused.headers["HX-Redirect"]) == (401, place)
