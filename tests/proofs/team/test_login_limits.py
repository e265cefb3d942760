"""Rate limits of log-ins across processes: shared through Redis, and per process while Redis is away."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from hitlsite import cache as patient
from tests.hitlsite.accounts.test_cache import cache_at, one_round
from tests.support.processes.server import Person, Server
from tests.support.services import real_processes  # noqa: F401

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture
def servers(tmp_path, redis):
    # A slow answer doesn't count as none: guesses meanwhile would not be counted together.
    patience = "?socket_timeout=60&socket_connect_timeout=60"
    settings = {"REDIS_URL": redis.url + patience, "SECRET_KEY": uuid4().hex}
    with Server(tmp_path, **settings) as one, Server(tmp_path, beside=one, **settings) as other:
        yield one, other


def try_log_in(server: Server, password: str) -> int:
    person = Person(server, "approver")
    person.get("/login/")
    return person.post("/login/", username="approver", password=password).status


def test_all_processes_count_together_and_each_for_itself_while_redis_is_away(servers, redis):
    one, other = servers
    assert [try_log_in(one, "guess") for _ in range(10)] == [200] * 10
    assert [try_log_in(other, "guess") for _ in range(11)] == [200] * 10 + [429]
    assert [try_log_in(server, "pausepoint") for server in servers] == [429, 429]
    redis.stop()
    assert [try_log_in(server, "pausepoint") for server in servers] == [302, 302]
    assert [try_log_in(one, "guess") for _ in range(21)] == [200] * 20 + [429]
    redis.start()


def test_sixteen_at_once_from_one_address_all_get_in(servers):
    with ThreadPoolExecutor(16) as at_once:
        assert list(at_once.map(try_log_in, [servers[0]] * 16, ["pausepoint"] * 16)) == [302] * 16


def test_redis_is_tried_again_after_a_while_and_shared(redis, monkeypatch):
    monkeypatch.setattr(patient.FallbackCache, "_away_until", time.monotonic() + 60)
    here, there = cache_at(redis.url), cache_at(redis.url)
    here.set("tries", [1.0], 300)
    monkeypatch.setattr(patient.FallbackCache, "_away_until", time.monotonic())
    assert there.get("tries") is None
    here.set("tries", [3.5, 2.0], 300)
    assert (there.get("tries"), there.get("absent", [])) == ([3.5, 2.0], [])
    assert one_round(there, "lock") == [True, False, True, True]


def test_nothing_that_redis_says_is_run(redis):
    here = cache_at(redis.url)
    here._cache.get_client(write=True).set(here.make_and_validate_key("poison"), b"cposix\nsystem\n(S'true'\ntR.")
    with pytest.raises(ValueError, match="Expecting value"):
        here.get("poison")
