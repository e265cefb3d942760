"""Adding and removing second factors: on record, in one transaction, and only with a fresh log-in."""

from __future__ import annotations

from functools import partial

import pytest
from allauth.mfa.models import Authenticator as Factor
from django.test import Client

from approvals.outbound import mailing
from tests.approvals.actions.test_races import race
from tests.hitlsite.accounts.passkey_device import Authenticator
from tests.hitlsite.accounts.test_factors import (
    PAGE,
    add_app,
    add_passkey,
    alice,
    code_of,
    entries,
    is_logged_in,
    log_in,
    options,
)
from tests.support import people
from tests.support.markup import parse

__all__ = ["alice"]
pytestmark = pytest.mark.django_db


def test_a_factor_and_its_entries_are_one_transaction(client, alice):
    """The test's own transaction never commits: an entry written after the commit would be missing."""
    add_app(client)
    added = [("totp", "factor.added"), ("recovery_codes", "factor.added")]
    assert [(data["factor"], event) for event, _, data in entries()[-2:]] == added
    add_passkey(client)
    client.post(f"{PAGE}recovery-codes/new/", secure=True)
    renewed = [("webauthn", "factor.added"), ("recovery_codes", "factor.added")]
    assert [(data["factor"], event) for event, _, data in entries()[-2:]] == renewed


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ["app/", "passkey/"])
def test_of_two_forms_at_once_one_changes_the_factors_and_is_on_record_once(client, alice, end):
    twin = Client()
    log_in(twin)
    clients = [client, twin]
    if end == "app/":
        secrets = [each.get(f"{PAGE}app/", secure=True) and each.session["mfa.totp.secret"] for each in clients]
        sent = [{"code": code_of(secret, steps=-1)} for secret in secrets]
    else:
        pages = [each.get(f"{PAGE}passkey/", secure=True) for each in clients]
        sent = [{"credential": Authenticator().create(options(page)), "name": "Key"} for page in pages]
    answers = race(
        *(partial(each.post, PAGE + end, body, secure=True) for each, body in zip(clients, sent, strict=True))
    )
    done = f"{PAGE}recovery-codes/"
    # The other session has ended: it is told so, or led to the log-in page if it came a moment later.
    other = next(answer for answer in answers if answer.headers.get("Location") != done)
    assert other.status_code == 401 or other.headers["Location"].startswith("/login/")
    kinds = list(Factor.objects.order_by("pk").values_list("type", flat=True))
    added = [data["factor"] for event, _, data in entries() if event == "factor.added"]
    assert added == kinds == ["totp" if end == "app/" else "webauthn", "recovery_codes"]


@pytest.mark.django_db(transaction=True)
def test_a_factor_that_two_forms_remove_at_once_is_removed_once(client, alice):
    add_app(client)
    twin = Client()
    twin.cookies = client.cookies
    answers = race(*[lambda each=each: each.post(f"{PAGE}app/remove/", secure=True) for each in (client, twin)])
    assert sorted(answer.status_code for answer in answers) == [302, 404]
    removed = [data["factor"] for event, _, data in entries() if event == "factor.removed"]
    assert removed == ["totp", "recovery_codes"]


@pytest.mark.django_db(transaction=True)
def test_an_added_factor_is_on_record_mailed_and_ends_other_sessions(client, alice, mailoutbox):
    other = Client()
    log_in(other)
    add_app(client)
    assert (is_logged_in(client), other.get("/", secure=True).status_code) == (True, 302)
    assert entries()[-2:] == [
        ("factor.added", "alice", {"factor": "totp", "address": "127.0.0.1"}),
        ("factor.added", "alice", {"factor": "recovery_codes", "address": "127.0.0.1"}),
    ]
    mailing._thread.submit(bool).result()
    about = ["from an address", "authenticator app", "recovery codes"]
    assert [words in mail.body for words, mail in zip(about, mailoutbox, strict=True)] == [True] * 3


def test_the_last_factor_takes_the_recovery_codes_with_it(client, alice):
    add_app(client)
    assert client.post(f"{PAGE}app/remove/", secure=True).headers["Location"] == PAGE
    assert [(event, data["factor"]) for event, _, data in entries()[-2:]] == [
        ("factor.removed", "totp"),
        ("factor.removed", "recovery_codes"),
    ]
    assert log_in(Client()).headers["Location"] == "/"


def make_stale(client: Client) -> None:
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] = 0
    session.save()


@pytest.mark.parametrize("end", ["app/", "passkey/", "recovery-codes/"])
def test_pages_that_change_factors_need_a_fresh_log_in(client, alice, end):
    make_stale(client)
    answer = client.get(PAGE + end, secure=True)
    assert answer.headers["Location"] == f"/login/again/?next=%2Fsettings%2Fsign-in%2F{end.replace('/', '%2F')}"


def test_a_form_without_a_fresh_log_in_is_refused_and_never_runs_later(client, alice):
    secret = add_app(client)
    make_stale(client)
    assert (
        client.post(f"{PAGE}app/remove/", secure=True).headers["Location"]
        == "/login/again/?next=%2Fsettings%2Fsign-in%2F"
    )
    again = client.post("/login/again/", {"code": code_of(secret), "next": PAGE}, secure=True)
    assert again.headers["Location"] == PAGE
    assert Factor.objects.filter(type="totp").exists()
    client.post(f"{PAGE}app/remove/", secure=True)
    assert not Factor.objects.filter(type="totp").exists()


def test_someone_with_a_factor_proves_it_again_and_not_their_password(client, alice):
    secret = add_app(client)
    passkey = add_passkey(client)
    make_stale(client)
    page = client.get("/login/again/", secure=True)
    assert parse(page.text).find("input", type="password") == []
    client.post("/login/again/", {"password": people.PASSWORD}, secure=True)
    assert client.get(f"{PAGE}app/", secure=True).status_code == 302
    assert client.get(f"{PAGE}passkey/", secure=True).status_code == 302
    client.post("/login/again/", {"credential": passkey.use(options(page))}, secure=True)
    assert client.get(f"{PAGE}passkey/", secure=True).status_code == 302
    page = client.get("/login/again/", secure=True)
    client.post("/login/again/", {"credential": passkey.use(options(page))}, secure=True)
    assert client.get(f"{PAGE}passkey/", secure=True).status_code == 200
    make_stale(client)
    client.post("/login/again/", {"code": code_of(secret)}, secure=True)
    assert client.get(f"{PAGE}passkey/", secure=True).status_code == 200


def test_nobody_removes_the_factor_of_someone_else(client, alice):
    add_passkey(client)
    people.mallory()
    mallory = Client()
    log_in(mallory, "mallory")
    key = Factor.objects.get(type="webauthn").pk
    assert mallory.post(f"{PAGE}passkey/{key}/remove/", secure=True).status_code == 404
    assert mallory.post(f"{PAGE}app/remove/", secure=True).status_code == 404
    assert mallory.post(f"{PAGE}recovery-codes/new/", secure=True).status_code == 302
    assert Factor.objects.filter(user__username="mallory").count() == 0


def test_someone_without_a_password_adds_their_first_factor_soon_after_the_log_in(client, alice):
    alice.set_unusable_password()
    alice.save()
    client.force_login(alice)
    session = client.session
    session["account_authentication_methods"] = [{"method": "socialaccount", "at": 0}]
    session.save()
    assert client.get(f"{PAGE}app/", secure=True).status_code == 200
    secret = add_app(client)
    make_stale(client)
    assert client.get(f"{PAGE}passkey/", secure=True).headers["Location"].startswith("/login/again/")
    assert client.post("/login/again/", {"code": code_of(secret)}, secure=True).status_code == 302
