"""What all tests share: the embedded default, a database that is put back, the limits of fast tests, hypothesis' budget."""

from __future__ import annotations

import os

from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from chats.providers import retries, scripted
from tests.support.database import django_db_setup
from tests.support.processes.shared import run_folder
from tests.support.services import ROUNDS, server

__all__ = ["django_db_setup", "server"]
pytest_plugins = ["tests.support.speed"]

# What was found is a finding; how long a loaded machine took to find it is not.
PATIENT = hypothesis_settings(deadline=None, max_examples=50 * ROUNDS, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time, so that a run says something about a change and nothing about luck;
# HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis_settings.register_profile("repeat", PATIENT, derandomize=True)
hypothesis_settings.register_profile("search", PATIENT)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


def pytest_configure() -> None:
    """Turn off what takes time and shows nothing here: slow hashes, limits of log-ins, pauses between words and attempts."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.ACCOUNT_RATE_LIMITS = False
    scripted.PAUSE = 0
    retries.FIRST_WAIT = 0.01
    # In this process, which ends last, and not in one of pytest-xdist's.
    run_folder()
