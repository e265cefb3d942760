"""Read settings from environment variables; an invalid value raises ImproperlyConfigured with a one-line message."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import available_timezones

import psycopg
from django.conf.global_settings import LANGUAGES
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import to_language, to_locale

from hitlsite.server.pooled import PooledConnection

#: Roles that new people may have at once.
ROLES = frozenset({"requester", "approver", "auditor"})
ALL_ROLES = ROLES | {"administrator"}
#: The scopes of API keys, and the most days that one works.
KEY_SCOPES = ("ask", "decide", "read", "audit", "grant", "absence", "advise")
KEY_DAYS = 3650
TRUE = frozenset({"1", "true", "yes", "on"})
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FALSE = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """Return the variable without surrounding white space; `default` if it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def boolean(name: str, *, default: bool) -> bool:
    value = text(name).lower()
    if not value:
        return default
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not valid. Set it to 1 or 0.")


def whole_number(name: str, *, default: int, lowest: int, highest: int) -> int:
    """Return a whole number from `lowest` to `highest`."""
    return _number(name, text(name, str(default)), lowest, highest)


def _number(name: str, value: str, lowest: int, highest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", value) or not lowest <= int(value) <= highest:
        raise ImproperlyConfigured(
            f"{name}={value!r} is not valid. Set it to a whole number from {lowest} to {highest}."
        )
    return int(value)


def by_role(name: str, *, default: int, lowest: int, highest: int) -> dict[str, int]:
    """Return a whole number for everyone, under "", and those for roles, such as `12,administrator:4`."""
    numbers = {"": default}
    for item in comma_separated(name):
        role, _colon, value = item.rpartition(":")
        if role not in {"", *ALL_ROLES}:
            raise ImproperlyConfigured(
                f"{name} contains {item}. Use a number, and roles such as administrator:4."
            )
        numbers[role] = _number(name, value, lowest, highest)
    return numbers


def comma_separated(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Return a comma-separated list, without empty items."""
    items = [item.strip() for item in text(name).split(",")]
    return [item for item in items if item] or list(default)


def choice(name: str, allowed: Collection[str], default: str = "") -> str:
    value = text(name, default)
    if value and value not in allowed:
        raise ImproperlyConfigured(
            f"{name}={value!r} is not valid. Set it to one of: {', '.join(sorted(allowed))}."
        )
    return value


def choices(
    name: str, allowed: Collection[str], default: tuple[str, ...] = ()
) -> list[str]:
    """Return a comma-separated list of some of the `allowed`; `none` stands for an empty list where there is a default."""
    values = comma_separated(name, default)
    if default and values == ["none"]:
        return []
    for value in values:
        if value not in allowed:
            raise ImproperlyConfigured(
                f"{name} contains {value}. Use a list of: {', '.join(sorted(allowed))}."
            )
    return values


def day(name: str) -> date | None:
    """Return a date such as `2027-01-31`; None if unset."""
    value = text(name)
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is {value}. Use a date such as 2027-01-31."
        ) from None


def language(name: str, folders: Collection[Path], *, default: str) -> str:
    """Return a language code such as `de` or `pt-br` that Django knows or that has a folder of translations."""
    code = text(name, default).lower()
    locale = to_locale(code)
    if code not in dict(LANGUAGES) and not any(
        (folder / locale / "LC_MESSAGES" / "django.mo").is_file() for folder in folders
    ):
        raise ImproperlyConfigured(
            f"{name}={code!r} is not a known language. Set it to a code like de or pt-br, or add "
            f"{locale}/LC_MESSAGES/django.mo to a folder of LOCALE_PATHS."
        )
    return code


def offered_languages(folders: Collection[Path], code: str) -> list[str]:
    """Return the available languages: this one, English, and those with a translation in one of the folders."""
    languages = {
        to_language(file.parents[1].name)
        for folder in folders
        for file in folder.glob("*/LC_MESSAGES/django.mo")
    }
    return [code, *sorted({"en", *languages} - {code})]


def time_zone(name: str, *, default: str) -> str:
    """Return the name of a time zone, such as `Europe/Berlin`."""
    value = text(name, default)
    if value not in available_timezones():
        raise ImproperlyConfigured(
            f"{name}={value!r} is not a time zone. Set it to a name like Europe/Berlin."
        )
    return value


def working_hours(name: str) -> tuple[int, int, int, int] | None:
    """Return the first and last working day (0 is Monday), and the working hours in seconds of the day; None if unset."""
    value = text(name)
    if not value:
        return None
    match = re.fullmatch(
        r"([A-Z][a-z]{2})-([A-Z][a-z]{2}) (\d\d):(\d\d)-(\d\d):(\d\d)", value
    )
    if match and match[1] in DAYS and match[2] in DAYS:
        first = DAYS.index(match[1])
        last = DAYS.index(match[2])
        begin, end = (int(match[at]) * 3600 + int(match[at + 1]) * 60 for at in (3, 5))
        if (
            first <= last
            and begin < end <= 86_400
            and int(match[4]) < 60
            and int(match[6]) < 60
        ):
            return first, last, begin, end
    raise ImproperlyConfigured(
        f"{name}={value!r} is not valid. Set it to days and hours like Mon-Fri 09:00-17:00."
    )


def json_object(name: str, *, default: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object such as `{"bucket_name": "files"}`."""
    try:
        value = json.loads(text(name, "null"))
    except ValueError:
        value = ()
    if value is None:
        return default
    if not isinstance(value, dict):
        # It may hold a password, so it is not repeated.
        raise ImproperlyConfigured(
            f'{name} is not valid. Set it to a JSON object like {{"bucket_name": "files"}}.'
        )
    return value


def origins(name: str) -> list[str]:
    """Return a list of origins such as `https://desk.example.org`: only scheme and host."""
    values = comma_separated(name)
    for origin in values:
        if not re.fullmatch(r"https?://[^\s/?#@]+", origin) or not _is_url(origin):
            raise ImproperlyConfigured(
                f"{name}: {origin!r} is not an origin. Set it to a URL like https://desk.example.org."
            )
    return values


def redis_url(name: str) -> str:
    """Return a Redis URL: `redis://host:6379/0`, `rediss://` with TLS, `unix://` for a socket, or ""."""
    url = text(name)
    if url and not re.match(r"(?:rediss?|unix)://[^\s]+$", url):
        raise ImproperlyConfigured(
            f"{name} is not valid. Set it to a URL like redis://:password@host:6379/0."
        )
    return url


def http_url(name: str, default: str, *, example: str = "") -> str:
    """Return the address of an HTTP server, without a trailing slash; "" if it is unset and has no default."""
    url = text(name, default)
    if not url:
        return ""
    if not re.fullmatch(r"https?://[^\s?#]+", url) or not _is_url(url):
        # The address may hold a password, so it is not repeated.
        raise ImproperlyConfigured(
            f"{name} is not valid. Set it to a URL like {default or example}."
        )
    return url.rstrip("/")


def _is_url(text: str) -> bool:
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:
        return False


def database(name: str, default: Path) -> dict[str, Any]:
    """Return Django's settings for a database URL.

    `sqlite:///relative.db` and `sqlite:////absolute.db` are files. `postgresql://user:password@host:port/name` is a server; its
    query may hold libpq options (`?sslmode=require`, `?host=/run/postgresql` for a socket) and `pool`, the maximum connections
    per process.
    """
    url = text(name)
    if url.startswith(("postgres://", "postgresql://")):
        return _postgresql(name, url)
    if url and (not url.startswith("sqlite:///") or len(url) == len("sqlite:///")):
        raise ImproperlyConfigured(
            f"{name} is not valid. Set it to sqlite:///path/to/file.db or postgresql://user:password@host:5432/name."
        )
    # IMMEDIATE takes the write lock when a transaction begins, so that two writers wait for each other instead of failing with
    # "database is locked". FULL, because an audit row reported as written must survive a power cut. Without recursive triggers,
    # INSERT OR REPLACE would not run those that keep append-only rows (`approvals.db.append_only`).
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(url.removeprefix("sqlite:///")) if url else default,
        # Opening and configuring the file takes longer than most statements, so each thread keeps its connection.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;",
        },
    }


#: Maximum connections per process, and seconds that further requests wait for one.
POOL_SIZE = "20"
POOL_TIMEOUT = 20.0
#: TCP keep-alives in seconds, on both sides: a host may disappear without closing its connections.
KEEPALIVES = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
#: The server plans a statement once per connection, after five runs: planning takes longer than running most statements.
PREPARED = {"server_side_binding": True, "prepare_threshold": 5}
#: Seconds of reconnecting before all clients that wait for a connection get an error.
RECONNECT = 0.5


def _postgresql(name: str, url: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from error
    if len(parts.path) < 2:
        raise ImproperlyConfigured(
            f"{name} has no database name. Set it to a URL like postgresql://user:password@host:5432/name."
        )
    options = dict(parse_qsl(parts.query))
    size = options.pop("pool", POOL_SIZE)
    if not size.isdecimal() or not 5 <= int(size) <= 1000:
        raise ImproperlyConfigured(
            f"{name}: pool={size!r} is not valid. Set it to a number from 5 to 1000."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(port or ""),
        # Each piece of database work returns its connection: without a pool, each would reconnect.
        "OPTIONS": {
            **KEEPALIVES,
            **options,
            "options": _server_options(options),
            "pool": _pool(int(size)),
            **PREPARED,
        },
        # Replaces a connection that broke while idle, such as after a database restart, so that no request fails.
        "CONN_HEALTH_CHECKS": True,
    }


def _server_options(options: dict[str, str]) -> str:
    """Return server settings for our connections; those in DATABASE_URL come last and take precedence."""
    ours = [f"-c tcp_{name}={value}" for name, value in KEEPALIVES.items()]
    return " ".join([*ours, options.get("options", "")]).strip()


def _pool(size: int) -> dict[str, Any]:
    waits = {
        "timeout": POOL_TIMEOUT,
        "reconnect_timeout": RECONNECT,
        "reconnect_failed": _fail_waiting_clients,
    }
    return {
        "min_size": 1,
        "max_size": size,
        "connection_class": PooledConnection,
        **waits,
    }


def _fail_waiting_clients(pool: Any) -> None:
    """Fail clients that wait for a connection at once while the database is away, not only after POOL_TIMEOUT."""
    with pool._lock:
        # If there are connections, the database only refuses further ones, and waiting clients will get one.
        waiting = (
            []
            if pool._nconns
            else [pool._waiting.popleft() for _ in range(len(pool._waiting))]
        )
    for client in waiting:
        client.fail(psycopg.OperationalError("it takes no connections"))
