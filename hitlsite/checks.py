"""System checks of the whole installation: what is configured by halves is said in words that say what to do."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Warning
from django.db import DatabaseError, connections

from approvals.models import processes

HERE = frozenset({"", "localhost", "127.0.0.1", "::1"})


def check_set_up(**_: Any) -> list[CheckMessage]:
    """The settings fit together."""
    return [*_services(), *([] if settings.DEBUG else _addresses())]


def _services() -> Iterator[CheckMessage]:
    sqlite = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
    if sqlite and settings.REDIS_URL:
        yield Warning(
            "REDIS_URL is set, but the database is SQLite, which is for one process.",
            hint="Set DATABASE_URL to a PostgreSQL to run several processes, or leave REDIS_URL out.",
            id="hitlsite.W001",
        )
    if not sqlite and not settings.REDIS_URL:
        yield Warning(
            "The database is PostgreSQL, but there is no REDIS_URL: processes do not hear of each other.",
            hint="Pages show what another process did only when they are read again. Set REDIS_URL for more than one.",
            id="hitlsite.W002",
        )


def _addresses() -> Iterator[CheckMessage]:
    public = urlsplit(settings.PUBLIC_URL)
    if public.hostname is None or public.hostname in HERE or public.hostname.startswith("127."):
        yield Warning(
            f"PUBLIC_URL is {settings.PUBLIC_URL}: links in messages and webhooks lead to this machine.",
            hint="Set PUBLIC_URL to where people reach the site, such as https://desk.example.org.",
            id="hitlsite.W003",
        )
    if not settings.ALLOWED_HOSTS:
        yield Warning(
            "ALLOWED_HOSTS is empty: every page answers 400.",
            hint="Set ALLOWED_HOSTS to the host names of the site, such as desk.example.org.",
            id="hitlsite.W004",
        )
    origin = f"{public.scheme}://{public.netloc}"
    if public.scheme == "https" and not settings.TRUST_FORWARDED_PROTO and origin not in settings.CSRF_TRUSTED_ORIGINS:
        yield Warning(
            f"Forms that people send from {origin} will be refused: it is not in CSRF_TRUSTED_ORIGINS.",
            hint="Set TRUST_FORWARDED_PROTO=1 if the proxy sets X-Forwarded-Proto; or else CSRF_TRUSTED_ORIGINS="
            + origin,
            id="hitlsite.W005",
        )
    if public.scheme == "https" and not settings.TRUSTED_PROXIES:
        yield Warning(
            "Everybody seems to log in from the address of the proxy: one person's wrong passwords keep others out.",
            hint="Set TRUSTED_PROXIES to the number of proxies in front that add to X-Forwarded-For, mostly 1.",
            id="hitlsite.W007",
        )


def check_processes(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """SQLite has one process only."""
    found: list[CheckMessage] = []
    for alias in databases or []:
        if connections[alias].vendor != "sqlite":
            continue
        others = [name for name in _names(alias) if _lives(name)]
        if others:
            found.append(
                Warning(
                    f"Another process serves this SQLite database: {', '.join(sorted(others)[:5])}.",
                    hint="They would wait for each other and not hear of each other. Stop it, or use PostgreSQL.",
                    id="hitlsite.W006",
                )
            )
    return found


def _names(alias: str) -> list[str]:
    try:
        return list(processes.alive().using(alias).values_list("name", flat=True))
    except DatabaseError:
        # There is no such table before the first `migrate`.
        return []


def _lives(name: str) -> bool:
    """Whether the process of that name, seen a moment ago, still runs; one of another machine is taken at its word."""
    host, pid, _ = name.rsplit(":", 2)
    if host != socket.gethostname()[:150]:
        return True
    if int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
