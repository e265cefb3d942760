"""Remove secrets from an upstream's texts: its errors may repeat a key, and a proxy may respond with a page of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings

from approvals.db.canonical_json import clean_text

#: Replaces a secret.
REMOVED = "[removed]"
#: Characters of a text that are examined, few because some patterns take quadratic time, and that are kept.
READ = 2_000
KEPT = 300
#: Servers quote keys in part, so a piece of this length counts as the secret. A shorter secret counts only as a whole word.
PIECE = 8
#: Settings that are secret or contain passwords, and the minimum length of a value to search for.
SECRET_SETTING = re.compile(r"(?:KEY|KEY_FALLBACKS|SECRET|TOKEN|PASSWORD|WEBHOOK_URL)$")
ADDRESS_SETTING = re.compile(r"(?:URL|DSN)$")
SHORTEST = 6

PAGE = re.compile(
    r"<\s*(?:!doctype|html|head|body|title|center|h1|script|style|div|p|br|\?xml)\b",
    re.IGNORECASE,
)
#: Texts that look like secrets. The groups are kept.
KEY_LIKE = (
    (re.compile(r"(\w://)[^\s/@]+@"), rf"\1{REMOVED}@"),
    (re.compile(r"-----BEGIN [\s\S]*?(?:-----END [A-Z ]+-----|\Z)"), REMOVED),
    (re.compile(r"\b(bearer|basic)\s+[^\s\"',;]{6,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    (re.compile(r"\beyJ[\w-]{6,}\.[\w.-]+"), REMOVED),
    (
        re.compile(
            r"\b(?:sk|pk|rk|key|gsk|xai|nvapi|hf|r8|pplx|whsec|glpat|xox[a-z]|gh[a-z]|github_pat)[-_][\w*.…+/=-]{5,}"
        ),
        REMOVED,
    ),
    (re.compile(r"\b(?:AKIA|ASIA|AIza|ya29\.)[\w-]{12,}"), REMOVED),
    (
        re.compile(
            r"((?:api[-_ ]?key|access[-_ ]?key|authorization|password|passwd|secret|token|signature|credential)s?"
            r"[\"']?\s*[=:]\s*[\"']?)(?!\[removed|(?:bearer|basic)\b)[^\s\"',;&}]{6,}",
            re.IGNORECASE,
        ),
        rf"\1{REMOVED}",
    ),
)
#: Ids of messages and requests, and names of models.
ID = re.compile(r"[\w.:/@+-]{1,100}", re.ASCII)
LONG = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
UNBROKEN = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{32,}")


def scrub(text: object, secrets: Iterable[str] = ()) -> str:
    """Return an upstream's text on one line of at most KEPT characters, without secrets; "" for a page of HTML or XML.

    Removes `secrets` (sent to this server), even in part, secret settings, and text that looks like a key.
    """
    line = clean_text(str(text)[:READ])
    if PAGE.search(line):
        return ""
    line = " ".join(LONG.sub(_unless_readable, _without_secrets(line, secrets)).split())
    return line if len(line) <= KEPT else f"{line[: KEPT - 1]}…"


def scrub_ids(secrets: Iterable[str], **values: Any) -> dict[str, str]:
    """Return the ids and names among these values of an upstream, without secrets. They may be long words."""
    secrets = list(secrets)
    ids = {
        name: value
        for name, value in values.items()
        if isinstance(value, str) and ID.fullmatch(value)
    }
    return {name: _without_secrets(value, secrets) for name, value in ids.items()}


def _without_secrets(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        for form in {secret, quote(secret, safe="")}:
            text = _without(text, form)
    ours = {secret for secret in _secret_settings() if len(secret) >= SHORTEST}
    for secret in sorted(ours, key=len, reverse=True):
        text = text.replace(secret, REMOVED)
    for pattern, replacement in KEY_LIKE:
        text = pattern.sub(replacement, text)
    return text


def scrub_json(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Apply `scrub` to each string of a JSON value."""
    match value:
        case str():
            return scrub(value, secrets)
        case Mapping():
            return {
                scrub(str(name), secrets): scrub_json(item, secrets)
                for name, item in value.items()
            }
        case list() | tuple():
            return [scrub_json(item, secrets) for item in value]
        case _:
            return value


def _without(text: str, secret: str) -> str:
    """Return the text without the secret and without its pieces."""
    if len(secret) < PIECE:
        return (
            re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REMOVED, text)
            if secret
            else text
        )
    pieces = {secret[start : start + PIECE] for start in range(len(secret) - PIECE + 1)}
    hidden: set[int] = set()
    for start in range(len(text) - PIECE + 1):
        if text[start : start + PIECE] in pieces:
            hidden.update(range(start, start + PIECE))
    kept = ("\0" if place in hidden else letter for place, letter in enumerate(text))
    return re.sub("\0+", REMOVED, "".join(kept))


def _unless_readable(match: re.Match[str]) -> str:
    """Return a long word if it is readable, such as the name of a model; otherwise the placeholder of a secret."""
    word = match[0]
    mixed = all(re.search(kind, word) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return REMOVED if mixed or UNBROKEN.search(word) else word


def _secret_settings() -> Iterator[str]:
    """Yield the values of secret settings, and the passwords in addresses."""
    for name in dir(settings):
        value = (
            getattr(settings, name)
            if SECRET_SETTING.search(name) or ADDRESS_SETTING.search(name)
            else None
        )
        values = value if isinstance(value, list | tuple) else [value]
        for text in values:
            if isinstance(text, str):
                yield from [text] if SECRET_SETTING.search(name) else _passwords(text)
    for database in settings.DATABASES.values():
        yield str(database.get("PASSWORD") or "")


def _passwords(address: str) -> list[str]:
    """Return the password in an address, decoded and as written there."""
    password = (urlsplit(address).password or "") if "://" in address else ""
    return [password, unquote(password)]
