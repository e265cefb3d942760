"""What all tests share: the embedded default, a database that is put back, the limits of fast tests, hypothesis' budget."""

from __future__ import annotations

import functools
import os

import httpx
from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from chats.providers import retries, scripted
from hitlsite.server.garbage import collect_garbage_rarely
from tests.support.database import django_db_setup
from tests.support.processes.shared import run_folder
from tests.support.services import ROUNDS, server

__all__ = ["django_db_setup", "server"]
pytest_plugins = ["tests.support.selection", "tests.support.speed"]

#: Fewer on PostgreSQL: more of the same values show no more of what differs between databases.
EXAMPLES = 15 if os.environ.get("TEST_ON") == "postgresql" else 50
# A counterexample is a finding; the time a loaded machine took for it is not.
PATIENT = hypothesis_settings(
    deadline=None, max_examples=EXAMPLES * ROUNDS, suppress_health_check=[HealthCheck.too_slow]
)
# The same examples every time, so that a run says something about a change and nothing about luck;
# HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis_settings.register_profile("repeat", PATIENT, derandomize=True)
hypothesis_settings.register_profile("search", PATIENT)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


def pytest_configure() -> None:
    """Turn off what takes time and shows nothing here: slow hashes, limits of log-ins, pauses between words and attempts."""
    # Each client reads all certificates of the machine when it is made, and hundreds of tests make one.
    httpx._transports.default.create_ssl_context = functools.cache(httpx.create_ssl_context)  # type: ignore[attr-defined]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.ACCOUNT_RATE_LIMITS = False
    scripted.PAUSE = 0
    retries.FIRST_WAIT = 0.01
    # In this process, which ends last, and not in one of pytest-xdist's.
    run_folder()
    collect_garbage_rarely()


def pytest_collection_finish() -> None:
    """Never search what was collected for garbage, which took a fifth of the time of all tests."""
    collect_garbage_rarely()
