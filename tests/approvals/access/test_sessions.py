"""A session is valid for a live page exactly as long as for Django."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from approvals.access import sessions
from approvals.access.callers import SCOPES, Credentials
from approvals.access.sessions import encrypt_session, note_use, take_used, user_of, user_of_encrypted_session, users_of
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)


def session_of(user) -> str:
    client = Client()
    client.force_login(user)
    return client.session.session_key


def changed(key: str, **values: object) -> None:
    session = SessionStore(key)
    for name, value in values.items():
        if value is None:
            session.pop(name)
        else:
            session[name] = value
    session.save()


def to_django(key: str):
    request = HttpRequest()
    request.session = SessionStore(key)
    user = get_user(request)
    return user if user.is_authenticated else None


def log_out(key: str, user) -> None:
    SessionStore(key).delete()


def expire(key: str, user) -> None:
    Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(seconds=1))


def new_password(key: str, user) -> None:
    user.set_password("another")
    user.save()


def deactivate(key: str, user) -> None:
    user.is_active = False
    user.save()


def no_user(key: str, user) -> None:
    changed(key, **{SESSION_KEY: "424242"})


def no_log_in(key: str, user) -> None:
    changed(key, **{SESSION_KEY: None})


def unknown_backend(key: str, user) -> None:
    changed(key, **{BACKEND_SESSION_KEY: "elsewhere.Backend"})


def no_proof(key: str, user) -> None:
    changed(key, **{HASH_SESSION_KEY: None})


def wrong_proof(key: str, user) -> None:
    changed(key, **{HASH_SESSION_KEY: "0" * 64})


ENDS = [log_out, expire, new_password, deactivate, no_user, no_log_in, unknown_backend, no_proof, wrong_proof]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_a_session_ends_when_it_ends_for_django(end):
    mine, other = alice(), bob()
    key, kept = session_of(mine), session_of(other)
    assert users_of([key, kept]) == {key: mine, kept: other} == {key: to_django(key), kept: to_django(kept)}
    assert users_of([kept]) == {kept: other}
    end(key, mine)
    assert users_of([key, kept]) == {kept: other}
    assert (user_of(key), to_django(key)) == (None, None)


def test_sessions_of_a_replaced_secret_are_valid_while_it_is_a_fallback(settings):
    mine = alice()
    key, settings.SECRET_KEY_FALLBACKS = session_of(mine), [settings.SECRET_KEY]
    settings.SECRET_KEY = "another" * 9
    assert user_of(key) == mine
    settings.SECRET_KEY_FALLBACKS = []
    assert (user_of(key), to_django(key)) == (None, None)


@pytest.mark.parametrize("key", ["", "\0", "a\0b", "no-key", "é" * 32, "x" * 5000])
def test_an_invented_session_key_has_no_user_and_does_not_affect_others(key):
    mine = alice()
    good = session_of(mine)
    assert users_of([key, good]) == {good: mine}


def test_a_long_response_finds_whoever_it_was_begun_for_in_their_session_until_that_ends():
    mine = alice()
    key = session_of(mine)
    credentials = Credentials(None, key)
    caller = credentials.caller()
    assert caller is not None
    assert (caller.user, caller.session_key, caller.by_session, caller.scopes) == (mine, key, True, set(SCOPES))
    log_out(key, mine)
    assert (credentials.caller(), Credentials(None, None).caller()) == (None, None)


@pytest.mark.parametrize("text", ["", "nonsense", "gAAAAABnonsense"])
def test_what_was_not_encrypted_here_refers_to_no_session(text):
    assert user_of_encrypted_session(text, alice().pk) == ("", None)


def test_an_encrypted_session_belongs_to_its_user_alone():
    mine, other = alice(), bob()
    key = session_of(mine)
    text = encrypt_session(key, mine)
    assert user_of_encrypted_session(text, mine.pk) == (key, mine)
    assert user_of_encrypted_session(text, other.pk) == (key, None)


@pytest.mark.parametrize("end", [log_out, expire, new_password, deactivate])
def test_an_encrypted_session_ends_with_the_session(end):
    mine = alice()
    key = session_of(mine)
    text = encrypt_session(key, mine)
    end(key, mine)
    assert user_of_encrypted_session(text, mine.pk) == (key, None)


def test_between_two_writes_a_bounded_number_of_sessions_is_noted_each_with_its_last_use(monkeypatch):
    take_used()
    monkeypatch.setattr(sessions, "MOST", 2)
    moments = [NOON + timedelta(seconds=number) for number in range(4)]
    monkeypatch.setattr(timezone, "now", iter(moments).__next__)
    for key in ("first", "second", "one too many", "first"):
        note_use(key)
    assert take_used() == {"first": moments[2], "second": moments[1]}
    note_use("one too many")
    assert take_used() == {"one too many": moments[3]}
