"""Read the environment once, strictly: an odd value is refused with one clear line, never guessed at."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The variable without surrounding white space; `default` where it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def boolean(name: str, *, default: bool) -> bool:
    value = text(name).lower()
    if not value:
        return default
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not a yes or no. Use 1 or 0.")


def whole(name: str, *, default: int, lowest: int, highest: int) -> int:
    """A whole number within bounds."""
    value = text(name, str(default))
    if not re.fullmatch(r"[0-9]{1,9}", value) or not lowest <= int(value) <= highest:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number from {lowest} to {highest}.")
    return int(value)


def words(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """A list separated by commas; empty items are dropped."""
    items = [item.strip() for item in text(name).split(",")]
    return [item for item in items if item] or list(default)


def choice(name: str, allowed: Collection[str], default: str = "") -> str:
    value = text(name, default)
    if value and value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is not known. Use one of: {', '.join(sorted(allowed))}.")
    return value


def origins(name: str) -> list[str]:
    """Origins such as `https://desk.example.org`: a scheme and a host, nothing behind them."""
    found = words(name)
    for origin in found:
        if not re.fullmatch(r"https?://[^\s/?#@]+", origin) or not _is_url(origin):
            raise ImproperlyConfigured(f"{name}: {origin!r} is not an origin. Write it like https://desk.example.org.")
    return found


def _is_url(text: str) -> bool:
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:
        return False


def sqlite_path(name: str, default: Path) -> Path:
    """The file behind `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    url = text(name)
    if not url:
        return default
    if not url.startswith("sqlite:///") or len(url) == len("sqlite:///"):
        raise ImproperlyConfigured(f"{name}: only sqlite:///path/to/file.db is supported so far.")
    return Path(url.removeprefix("sqlite:///"))
