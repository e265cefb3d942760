"""Shared set-up: the append-only triggers stay on in every test; only the flush between tests gets past them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from approvals import append_only

# What was found is a finding; how long a loaded machine took to find it is not.
PATIENT = hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time, so that a run says something about a change and nothing about luck;
# HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis_settings.register_profile("repeat", PATIENT, derandomize=True)
hypothesis_settings.register_profile("search", PATIENT)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


def pytest_configure() -> None:
    """People of the tests log in often; slow hashes and limits protect nobody here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.ACCOUNT_RATE_LIMITS = False


@pytest.fixture(autouse=True)
def _flush_gets_past_the_triggers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Transactional tests end in a flush, which is a DELETE on every table, protected ones too."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and not marker.kwargs.get("transaction"):
        # A transactional test before this one, where tests run in another order than usual, has left the switch on.
        request.getfixturevalue("db")
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {append_only.SWITCH}")
    if marker is None or not marker.kwargs.get("transaction"):
        yield
        return
    request.getfixturevalue("transactional_db")
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {append_only.SWITCH}")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {append_only.SWITCH} (reason) VALUES ('flush between tests')")
