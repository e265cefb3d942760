"""`check --deploy` is silent for a complete configuration and explains an incomplete one."""

from __future__ import annotations

import os
import socket

import pytest
from django.db import connection
from django.utils import timezone

from approvals import actions
from approvals.models.processes import WorkerKind
from hitlsite.checks import check_processes, check_set_up

ENGINE = "django.db.backends."


@pytest.fixture
def production(settings, monkeypatch):
    settings.DEBUG = False
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "https://desk.example.org", ["desk.example.org"]
    settings.TRUST_FORWARDED_PROTO, settings.TRUSTED_PROXIES, settings.REDIS_URL = True, 1, ""
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", ENGINE + "sqlite3")
    return settings


def ids() -> list[str]:
    return [found.id.removeprefix("hitlsite.") for found in check_set_up()]


def test_a_complete_configuration_gets_no_warning(production):
    assert ids() == []


def test_redis_with_sqlite_and_postgresql_without_redis_are_reported(production, monkeypatch):
    production.REDIS_URL = "redis://127.0.0.1/0"
    assert ids() == ["W001"]
    monkeypatch.setitem(production.DATABASES["default"], "ENGINE", ENGINE + "postgresql")
    assert ids() == []
    production.REDIS_URL = ""
    assert ids() == ["W002"]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost", "http://127.1.2.3", "http://[::1]:80", ""]
)
def test_a_public_url_that_leads_to_this_machine_is_reported(production, url):
    production.PUBLIC_URL = url
    assert ids() == ["W003"]
    production.DEBUG = True
    assert ids() == []


def test_missing_allowed_hosts_are_reported(production):
    production.ALLOWED_HOSTS = []
    assert ids() == ["W004"]


def test_an_untrusted_https_origin_is_reported(production):
    production.TRUST_FORWARDED_PROTO = False
    assert ids() == ["W005"]
    production.CSRF_TRUSTED_ORIGINS = ["https://desk.example.org"]
    assert ids() == []


def test_missing_trusted_proxies_are_reported(production):
    production.TRUSTED_PROXIES = 0
    assert ids() == ["W007"]
    # Without HTTPS it does not matter, but devices cannot be notified.
    production.PUBLIC_URL = "http://desk.example.org"
    assert ids() == ["W008"]


@pytest.mark.django_db
def test_a_second_live_process_on_sqlite_is_reported(monkeypatch):
    warned = ["hitlsite.W006"] if connection.vendor == "sqlite" else []
    assert check_processes(databases=["default"]) == []
    here, started = socket.gethostname()[:150], timezone.now()

    def seen(name: str) -> list[str]:
        actions.record_heartbeat(name, WorkerKind.WEB, started_at=started, running=0)
        return [found.id for found in check_processes(databases=["default"])]

    assert seen(f"{here}:{os.getpid()}:own") == []
    # No process has this number: it is above Linux's maximum.
    assert seen(f"{here}:{2**22 + 1}:dead") == []
    assert seen(f"{here}:{os.getppid()}:living") == warned
    actions.remove_process(f"{here}:{os.getppid()}:living")
    assert seen("another-machine:1:x") == warned
    assert check_processes(databases=None) == []
