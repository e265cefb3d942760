"""A client token made with a browser session ends with that session."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.signing import Signer
from django.test import Client
from django.utils import timezone

from tests.support.people import alice

pytestmark = pytest.mark.django_db

CHAT = "/api/chat/c1"


def session_of(user: User) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def token_from(browser: Client) -> str:
    browser.cookies["csrftoken"] = "a" * 32
    sent = {"X-CSRFToken": "a" * 32}
    made = browser.post("/api/v1/client-tokens", {"chat": "c1"}, content_type="application/json", headers=sent)
    assert made.status_code == 201
    return made.json()["token"]


def status(token: str) -> int:
    """404: known, and there is no such chat yet. 401: not known (any more)."""
    return Client().get(CHAT, headers={"Authorization": f"Bearer {token}"}).status_code


def test_the_token_is_valid_until_the_log_out():
    person = alice()
    browser, another = session_of(person), session_of(person)
    token, other = token_from(browser), token_from(another)
    assert (status(token), status(other)) == (404, 404)
    browser.post("/logout/")
    assert (status(token), status(other)) == (401, 404)


def test_the_token_ends_when_the_session_expires_or_is_removed():
    browser = session_of(alice())
    token = token_from(browser)
    Session.objects.update(expire_date=timezone.now())
    assert status(token) == 401
    Session.objects.all().delete()
    assert status(token) == 401


def test_the_token_ends_when_the_password_changes_or_the_user_is_deactivated():
    person = alice()
    token = token_from(session_of(person))
    User.objects.update(is_active=False)
    assert status(token) == 401
    User.objects.update(is_active=True)
    assert status(token) == 404
    person.set_password("another one entirely")
    person.save()
    assert status(token) == 401


def test_the_token_does_not_reveal_the_session_key():
    browser = session_of(alice())
    key = browser.session.session_key
    claims = Signer(salt="approvals.client-token").unsign_object(token_from(browser).removeprefix("ppt_"))
    assert "session" in claims
    assert key not in str(claims)


def test_finding_the_user_of_a_token_and_what_they_may_do_costs_two_queries(django_assert_num_queries):
    token = token_from(session_of(alice()))
    with django_assert_num_queries(3):  # the caller, their permissions, and the chat
        assert status(token) == 404
