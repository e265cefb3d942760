"""System checks of the installation: conflicting settings, and processes that share a SQLite database."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connections
from django.utils.translation import gettext as _

from approvals.models import processes
from approvals.outbound import push
from hitlsite.storage import unwritable_folder

#: Required libraries that are only imported by the functions that use them (docs/architecture.md, "What a process loads").
LATE = (
    "cel_expr_python",
    "confusable_homoglyphs",
    "fido2",
    "icalendar",
    "jsonschema",
    "jwt",
    "markdown_it",
    "nh3",
    "rapidfuzz",
    "re2",
    "redis",
    "referencing",
    "requests",
    "scim2_models",
    "scim2_server",
    "segno",
    "websockets",
)
LOCAL_HOSTS = frozenset({"", "localhost", "127.0.0.1", "::1"})


def check_set_up(**kwargs: Any) -> list[checks.CheckMessage]:
    """Check that the settings do not conflict."""
    deployed = [] if settings.DEBUG else _addresses()
    return [*_services(), *_files(), *_single_sign_on(), *deployed]


def check_libraries(**kwargs: Any) -> list[checks.CheckMessage]:
    """Check that the libraries that are loaded late are installed, without loading them."""
    return [
        _not_loaded(name, _("it is not installed"))
        for name in LATE
        if find_spec(name) is None
    ]


def load_libraries(**kwargs: Any) -> list[checks.CheckMessage]:
    """Load the libraries that are loaded late, for `check --deploy`: one may be installed but broken."""
    errors = []
    for name in LATE:
        try:
            import_module(name)
        except ImportError as error:
            errors.append(_not_loaded(name, str(error)))
    return errors


def _not_loaded(name: str, reason: str) -> checks.CheckMessage:
    return checks.Error(
        _("The library %(name)s cannot be loaded: %(reason)s.")
        % {"name": name, "reason": reason},
        hint=_("Install the requirements again: pip install -r requirements.lock"),
        id="hitlsite.E001",
    )


def _files() -> Iterator[checks.CheckMessage]:
    folder = unwritable_folder()
    if folder is not None:
        yield checks.Warning(
            _(
                "Files of requests cannot be stored: this process cannot write to %(folder)s."
            )
            % {"folder": folder},
            hint=_(
                "Make the folder writable for the user of the processes, or set ATTACHMENTS_OPTIONS."
            ),
            id="hitlsite.W009",
        )


def _single_sign_on() -> Iterator[checks.CheckMessage]:
    if settings.OIDC_ONLY and not settings.OIDC_ISSUER:
        yield checks.Error(
            _("OIDC_ONLY is set, but OIDC_ISSUER is not: no one could log in."),
            hint=_("Set OIDC_ISSUER, or unset OIDC_ONLY."),
            id="hitlsite.E004",
        )
    if not settings.OIDC_ISSUER:
        return
    if not settings.OIDC_CLIENT_ID or not settings.OIDC_CLIENT_SECRET:
        yield checks.Error(
            _("OIDC_ISSUER is set, but OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is not."),
            hint=_("Set both to the values that the provider shows for Pausepoint."),
            id="hitlsite.E002",
        )
    issuer = urlsplit(settings.OIDC_ISSUER)
    if issuer.scheme == "http" and issuer.hostname not in settings.OIDC_PRIVATE_HOSTS:
        yield checks.Error(
            _("OIDC_ISSUER does not start with https://."),
            hint=_(
                "Use https://. For a provider in your own network, list its host in OIDC_PRIVATE_HOSTS."
            ),
            id="hitlsite.E003",
        )


def _services() -> Iterator[checks.CheckMessage]:
    sqlite = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
    if sqlite and settings.REDIS_URL:
        yield checks.Warning(
            _(
                "REDIS_URL is set, but the database is SQLite, which only supports one process."
            ),
            hint=_(
                "Set DATABASE_URL to a PostgreSQL database to run several processes, or unset REDIS_URL."
            ),
            id="hitlsite.W001",
        )
    if not sqlite and not settings.REDIS_URL:
        yield checks.Warning(
            _(
                "The database is PostgreSQL, but REDIS_URL is not set, so processes cannot notify each other."
            ),
            hint=_(
                "Pages show the changes of another process only after a reload. Set REDIS_URL to run several processes."
            ),
            id="hitlsite.W002",
        )


def _addresses() -> Iterator[checks.CheckMessage]:
    public = urlsplit(settings.PUBLIC_URL)
    yield from _links(public.hostname or "")
    if not settings.ALLOWED_HOSTS:
        yield checks.Warning(
            _("ALLOWED_HOSTS is empty, so every page returns 400."),
            hint=_(
                "Set ALLOWED_HOSTS to the host names of the site, such as desk.example.org."
            ),
            id="hitlsite.W004",
        )
    if public.scheme == "https":
        yield from _proxies(f"{public.scheme}://{public.netloc}")


def _links(host: str) -> Iterator[checks.CheckMessage]:
    url = {"url": settings.PUBLIC_URL}
    if host in LOCAL_HOSTS or host.startswith("127."):
        yield checks.Warning(
            _(
                "PUBLIC_URL is %(url)s, so links in messages and webhooks point to this machine."
            )
            % url,
            hint=_(
                "Set PUBLIC_URL to the site's public URL, such as https://desk.example.org."
            ),
            id="hitlsite.W003",
        )
    elif not push.is_available():
        yield checks.Warning(
            _("PUBLIC_URL is %(url)s, so devices are not notified.") % url,
            hint=_(
                "Push services require an https URL. Set PUBLIC_URL to one, such as https://desk.example.org."
            ),
            id="hitlsite.W008",
        )


def _proxies(origin: str) -> Iterator[checks.CheckMessage]:
    """Check what the site knows of a proxy, which an https site usually has in front of it."""
    trusted = settings.TRUST_FORWARDED_PROTO or origin in settings.CSRF_TRUSTED_ORIGINS
    if not trusted:
        hint = _(
            "Set TRUST_FORWARDED_PROTO=1 if the proxy sets X-Forwarded-Proto; otherwise set CSRF_TRUSTED_ORIGINS="
        )
        yield checks.Warning(
            _(
                "Forms sent from %(origin)s will be rejected because it is not in CSRF_TRUSTED_ORIGINS."
            )
            % {"origin": origin},
            hint=hint + origin,
            id="hitlsite.W005",
        )
    if not settings.TRUSTED_PROXIES:
        yield checks.Warning(
            _(
                "All log-ins seem to come from the proxy's address, so one person's wrong passwords can lock out everyone."
            ),
            hint=_(
                "Set TRUSTED_PROXIES to the number of proxies in front of the site that add to X-Forwarded-For, usually 1."
            ),
            id="hitlsite.W007",
        )


def check_processes(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Check that no other process serves the same SQLite database."""
    warnings: list[checks.CheckMessage] = []
    for alias in databases or []:
        if connections[alias].vendor != "sqlite":
            continue
        others = [name for name in _names(alias) if _is_running(name)]
        if others:
            warnings.append(
                checks.Warning(
                    _("Another process serves this SQLite database: %(names)s.")
                    % {"names": ", ".join(sorted(others)[:5])},
                    hint=_(
                        "Two processes block each other and cannot notify each other. Stop the other one, or use PostgreSQL."
                    ),
                    id="hitlsite.W006",
                )
            )
    return warnings


def _names(alias: str) -> list[str]:
    try:
        return list(processes.alive().using(alias).values_list("name", flat=True))
    except DatabaseError:
        # The table does not exist before the first `migrate`.
        return []


def _is_running(name: str) -> bool:
    """Return whether the process of this name still runs; for one on another machine, judged by its heartbeat."""
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
