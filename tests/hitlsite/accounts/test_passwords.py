"""Changing a password, and resetting it with a link in a mail."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client

from approvals.access.sessions import user_of
from approvals.models import AuditEntry
from approvals.outbound import mailing
from hitlsite import settings as ours
from tests.support import people
from tests.support.markup import inline_code, parse

pytestmark = pytest.mark.django_db

NEW = "a wholly new battery"
CHANGE = {"oldpassword": people.PASSWORD, "password1": NEW, "password2": NEW}
NOT_VALID = "This link is no longer valid. A link works once, for a limited time, and stops working when you log in."
NOTE = "Your password was changed. Your other sessions were logged out."


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def with_mail(name: str = "alice", address: str = "alice@example.org"):
    user = people.make_person(name)
    user.email = address
    user.save()
    return user


def sent() -> list[EmailMessage]:
    """All mails, once the thread that sends them has done so."""
    mailing._thread.submit(bool).result()
    return mail.outbox


def ask_for_link(address: str, **more: str) -> str:
    """The path of the link that comes by mail."""
    Client().post("/password/reset/", {"email": address}, **more)
    (link,) = re.findall(r"^http://\S+$", str(sent()[-1].body), re.MULTILINE)
    return link.removeprefix("http://127.0.0.1:8000")


def follow(link: str, client: Client | None = None):
    """The page that the link leads to, and the browser that is on it."""
    client = client or Client()
    return client, client.get(link, follow=True)


def refusals(answer) -> list[str]:
    return [one.words for one in parse(answer.text).find("p", class_="refusal")]


def notes(answer) -> list[str]:
    return [one.words for one in parse(answer.text).find("p", class_="note")]


def last_event() -> tuple[str, str, dict[str, str]]:
    entry = AuditEntry.objects.latest("pk")
    return entry.event, entry.actor_name, entry.data


def test_every_page_links_to_settings_where_one_page_leads_to_the_password():
    client = browser(people.carol())
    client.post("/login/again/", {"password": people.PASSWORD})
    menu = parse(client.get("/").text).find("nav", id="user-menu")[0]
    assert "/settings/" in [link.attributes["href"] for link in menu.find("a")]
    links = parse(client.get("/settings/sign-in/").text).find("main")[0].find("a")
    assert ("/password/", "Change password") in [(link.attributes["href"], link.words) for link in links]


def test_changing_a_password_is_audited_and_ends_other_sessions():
    alice = people.alice()
    alice.set_password(people.PASSWORD)
    alice.save()
    here, there = browser(alice), browser(alice)
    old = there.session.session_key
    changed = here.post("/password/", CHANGE, follow=True)
    assert (changed.redirect_chain, notes(changed)) == ([("/", 302)], [NOTE])
    assert last_event() == ("password.changed", "alice", {"address": "127.0.0.1"})
    assert (here.get("/").status_code, there.get("/").status_code, user_of(old)) == (200, 302, None)
    assert Client().login(username="alice", password=NEW)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"oldpassword": "guess"}, "Wrong current password."),
        (
            {"password1": "short", "password2": "short"},
            "This password is too short. It must contain at least 8 characters.",
        ),
        ({"password2": "another"}, "You must type the same password each time."),
        ({"password1": "password", "password2": "password"}, "This password is too common."),
        ({"oldpassword": ""}, "This field is required."),
    ],
)
def test_an_unacceptable_password_is_refused_at_its_field(change, words):
    user = people.make_person("erin")
    refused = browser(user).post("/password/", CHANGE | change)
    assert (refused.status_code, refusals(refused)) == (200, [words])
    user.refresh_from_db()
    assert user.check_password(people.PASSWORD)


def test_a_page_tells_a_new_session_from_the_one_before_without_its_key():
    client = browser(people.make_person("erin"))
    marks = []
    for change in (None, None, CHANGE):
        if change:
            client.post("/password/", change)
        (body,) = parse(client.get("/settings/").text).find("body")
        marks.append(body.attributes["data-session"])
        assert client.session.session_key not in body.attributes["data-session"]
    assert (marks[0] == marks[1], marks[1] == marks[2], len(marks[0])) == (True, False, 16)


def test_a_user_without_a_password_is_referred_to_an_administrator():
    user = people.make_person("erin")
    user.set_unusable_password()
    user.save()
    for answer in (browser(user).get("/password/"), browser(user).post("/password/", CHANGE)):
        assert answer.status_code == 403
        assert "Your account has no password here. Ask an administrator to set one." in answer.text


def test_a_link_comes_by_mail_and_sets_a_new_password_once():
    with_mail()
    link = ask_for_link("Alice@Example.org")
    (message,) = sent()
    assert (message.subject, message.to) == ("[Pausepoint] Set a new password", ["alice@example.org"])
    assert "for your account alice." in message.body
    client, page = follow(link)
    assert link not in page.request["PATH_INFO"]  # nor in the Referer of the page's resources
    done = client.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW}, follow=True)
    assert (done.redirect_chain, notes(done)) == ([("/login/", 302)], [NOTE])
    assert last_event() == ("password.reset", "alice", {"address": "127.0.0.1"})
    assert client.post("/login/", {"username": "alice", "password": NEW}).status_code == 302
    assert refusals(follow(link)[1]) == [NOT_VALID]


def test_a_reset_link_works_while_logged_in():
    user = with_mail()
    here = browser(user)
    user.refresh_from_db()
    _, page = follow(ask_for_link("alice@example.org"), here)
    done = here.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW}, follow=True)
    assert done.redirect_chain == [("/login/", 302)]
    assert last_event()[0] == "password.reset"


def test_the_link_uses_the_public_url_whatever_the_host_header(settings):
    settings.ALLOWED_HOSTS = ["*"]
    with_mail()
    assert ask_for_link("alice@example.org", HTTP_HOST="evil.example").startswith("/password/reset/")


def test_a_link_is_valid_for_an_hour(monkeypatch):
    user = with_mail()
    link = ask_for_link("alice@example.org")
    assert refusals(follow(link)[1]) == []
    later = datetime.now() + timedelta(minutes=61)  # noqa: DTZ005 - as Django's own
    monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda _: later)
    assert refusals(follow(link)[1]) == [NOT_VALID]
    assert user.check_password(people.PASSWORD)


@pytest.mark.parametrize("link", ["1/x", "1/set-password", "zzzzzzzzzzzzz/abc-def", "%00/x", "-/-", "1/abc-%0a"])
def test_an_invented_link_is_refused_with_a_page(link):
    page = follow(f"/password/reset/{link}/")[1]
    assert page.status_code in {200, 404}
    if page.status_code == 200:
        assert refusals(page) == [NOT_VALID]


def test_an_unknown_address_gets_the_same_page_and_no_mail():
    with_mail()
    closed = with_mail("dora", "dora@example.org")
    closed.is_active = False
    closed.save()
    without = with_mail("erin", "erin@example.org")
    without.set_unusable_password()
    without.save()
    asked = ["alice@example.org", "nobody@example.org", "dora@example.org", "erin@example.org"]
    pages = [Client().post("/password/reset/", {"email": address}, follow=True) for address in asked]
    assert len({page.text for page in pages}) == 1
    assert [message.to for message in sent()] == [["alice@example.org"]]


def test_a_former_address_cannot_reset_a_password():
    user = with_mail()
    follow(ask_for_link("alice@example.org"))
    user.email = "alice@new.example"
    user.save()
    Client().post("/password/reset/", {"email": "alice@example.org"})
    assert (len(sent()), EmailAddress.objects.count()) == (1, 0)


def test_a_reset_clears_earlier_failures_of_that_account(settings):
    settings.ACCOUNT_RATE_LIMITS = ours.ACCOUNT_RATE_LIMITS
    with_mail()
    for _ in range(21):
        refused = Client().post("/login/", {"username": "alice", "password": "guess"})
    assert refused.status_code == 429
    client, page = follow(ask_for_link("alice@example.org"))
    client.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW})
    assert client.post("/login/", {"username": "alice", "password": NEW}).status_code == 302


def test_a_reset_keeps_failures_on_other_accounts(settings):
    settings.ACCOUNT_RATE_LIMITS = ours.ACCOUNT_RATE_LIMITS | {"login_failed": "20/300s/key,3/300s/ip"}
    with_mail()
    guesses = [Client().post("/login/", {"username": f"user{n}", "password": "guess"}) for n in range(4)]
    assert [guess.status_code for guess in guesses] == [200, 200, 200, 429]
    client, page = follow(ask_for_link("alice@example.org"))
    client.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW})
    assert Client().post("/login/", {"username": "user4", "password": "guess"}).status_code == 429


def test_a_mail_outage_is_logged_and_not_shown(monkeypatch, caplog):
    def refused(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("no mail server")

    monkeypatch.setattr(EmailMessage, "send", refused)
    with_mail()
    page = Client().post("/password/reset/", {"email": "alice@example.org"}, follow=True)
    sent()
    assert (page.status_code, "Check your email" in page.text) == (200, True)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "An email about an account was not sent"
    ]


@pytest.mark.parametrize("address", ["/password/reset/", "/password/reset/sent/", "/password/reset/1/x/", "/login/"])
def test_these_pages_have_no_inline_code_and_have_our_policy(client, address):
    page = client.get(address)
    assert (page.status_code, inline_code(page.text)) == (200, [])
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_forms_need_their_csrf_token():
    with_mail()
    _, page = follow(ask_for_link("alice@example.org"))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.bob())
    for address in ("/login/", "/password/", "/password/reset/", page.request["PATH_INFO"]):
        assert strict.post(address, {"password1": NEW, "password2": NEW}).status_code == 403
