"""Passwords are hashed on a few threads, and no connection is held while waiting for one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password
from django.contrib.auth.models import User
from django.db import connection, connections

from hitlsite import settings as ours
from hitlsite.accounts import hashing
from tests.support import people


@pytest.fixture(autouse=True)
def _real_hashing(settings):
    settings.PASSWORD_HASHERS = ours.PASSWORD_HASHERS


@pytest.fixture
def crowd(monkeypatch):
    """How many hash at once, on which threads, and whether their callers hold a connection."""
    found, lock, hashing_now = {"most": 0, "threads": set(), "connected": []}, threading.Lock(), set()

    def encode(self, password, salt, iterations=None):
        thread = threading.current_thread().name
        with lock:
            hashing_now.add(thread)
            found["most"] = max(found["most"], len(hashing_now))
            found["threads"].add(thread.rsplit("_", 1)[0])
        done = real(self, password, salt, 1)
        hashing_now.discard(thread)
        return done

    real = PBKDF2PasswordHasher.encode
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    return found


def test_hashes_are_those_of_django():
    hashed = make_password("secret")
    assert hashed.startswith("pbkdf2_sha256$")
    assert PBKDF2PasswordHasher().verify("secret", hashed)
    short = PBKDF2PasswordHasher().encode("secret", "salt", 1)
    assert check_password("secret", short)
    assert not PBKDF2PasswordHasher().verify("guess", short)


def test_many_log_ins_at_once_use_few_threads(crowd):
    with ThreadPoolExecutor(16) as people_at_once:
        hashed = list(people_at_once.map(make_password, ["secret"] * 16))
    assert len(set(hashed)) == 16
    assert crowd["most"] <= hashing.THREADS
    assert crowd["threads"] == {"pausepoint-hashing"}


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_held_while_waiting_for_a_hash(client, monkeypatch):
    people.alice()
    seen = []

    def encode(self, *args):
        seen.append(waiting.connection)
        return real(self, *args)

    waiting, real = connections["default"], PBKDF2PasswordHasher.encode
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    client.post("/login/", {"username": "alice", "password": "guess"})
    assert set(seen) == {None}


@pytest.mark.django_db
def test_hashing_inside_a_transaction_does_not_queue(crowd):
    User.objects.create_user("erin", password="secret")
    assert connection.in_atomic_block
    assert connection.connection is not None
    assert crowd["threads"] == {threading.current_thread().name}


@pytest.mark.django_db(transaction=True)
def test_a_new_password_is_hashed_before_the_transaction_that_stores_it(client, crowd, settings):
    client.force_login(people.make_person("erin"))
    new = {"oldpassword": people.PASSWORD, "password1": "a wholly new one", "password2": "a wholly new one"}
    assert client.post("/password/", new).status_code == 302
    assert crowd["threads"] == {"pausepoint-hashing"}
