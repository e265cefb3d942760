"""The cache of the rate limits without Redis; with Redis: tests/proofs/team/test_login_limits.py."""

from __future__ import annotations

import time

import pytest
from django.core.cache import caches

from hitlsite import cache as patient
from tests.support.processes.server import free_port

OPTIONS = {"serializer": "hitlsite.cache.JsonSerializer", "socket_timeout": 1, "socket_connect_timeout": 1}


@pytest.fixture(autouse=True)
def _redis_is_tried(monkeypatch):
    monkeypatch.setattr(patient.FallbackCache, "_away_until", 0.0)


def cache_at(url: str) -> patient.FallbackCache:
    return patient.FallbackCache([url], {"KEY_PREFIX": "pausepoint", "OPTIONS": OPTIONS})


def one_round(cache: patient.FallbackCache, key: str) -> list[object]:
    """Use it like allauth."""
    return [cache.add(key, True, timeout=10), cache.add(key, True, timeout=10), cache.get(key), cache.delete(key)]


def test_each_process_counts_alone_while_redis_is_away(caplog):
    url = f"redis://127.0.0.1:{free_port()}/0"
    began = time.monotonic()
    assert one_round(cache_at(url), "lock") == [True, False, True, True]
    cache_at(url).set("tries", [1.0], 300)
    # Every request has a cache object of its own.
    assert cache_at(url).get("tries") == [1.0]
    assert time.monotonic() - began < 1
    assert [record.message.split(" (")[0] for record in caplog.records] == ["Redis is unavailable"]


def test_without_redis_counts_are_kept_in_memory():
    assert type(caches["default"]).__name__ == "LocMemCache"
    assert caches["default"]._max_entries == 100_000
