"""The public keys of token issuers, stored in their rows so that all processes know them.

The sweep reads them every ten minutes. A call with an unknown key reads them at once, for each issuer at most once a minute.
"""

from __future__ import annotations

import json
import time
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals import http_post
from approvals.db.due import for_each_due
from approvals.db.transactions import release_connections
from approvals.json_types import JsonDict
from approvals.models import ChannelIssuer, TokenIssuer

#: For all calls of one fetch.
SECONDS = 4.5
MAX_BYTES = 200_000
MAX_KEYS = 50
#: How often the sweep reads the keys, and how often calls with unknown keys may.
REFRESH = timedelta(minutes=10)
AGAIN = timedelta(minutes=1)
_WAIT = timedelta(seconds=6)
_MEMBERS = ("kty", "kid", "alg", "use", "n", "e", "crv", "x", "y")
_MAX_MEMBER = 2000
#: Characters of an RSA modulus of 2048 bits.
_MODULUS = 342


#: The rows that store keys: issuers of access tokens, and those of the tokens with which channels prove their calls.
KeyHolder = TokenIssuer | ChannelIssuer
Holder = TypeVar("Holder", TokenIssuer, ChannelIssuer)


class UnreadableKeys(Exception):
    """The issuer does not answer with keys; the message gives the reason."""


def read_keys(issuer: KeyHolder) -> list[JsonDict]:
    """Return the keys that an issuer publishes now. Raise UnreadableKeys."""
    deadline = time.monotonic() + SECONDS
    url = issuer.keys_url
    if not url:
        base = issuer.issuer.rstrip("/")
        about = _fetch(f"{base}/.well-known/openid-configuration", issuer, deadline)
        if about.get("issuer") != issuer.issuer:
            raise UnreadableKeys(_("it names another issuer"))
        url = str(about.get("jwks_uri", ""))
    listed = _fetch(url, issuer, deadline).get("keys")
    keys = [_kept(key) for key in listed] if isinstance(listed, list) else []
    if usable := [key for key in keys if key]:
        return usable[:MAX_KEYS]
    raise UnreadableKeys(_("it publishes no usable keys"))


def _fetch(url: str, issuer: KeyHolder, deadline: float) -> JsonDict:
    own = {urlsplit(issuer.issuer).hostname, urlsplit(issuer.keys_url).hostname}
    try:
        body = http_post.get(
            url,
            allow_private=issuer.private and urlsplit(url).hostname in own,
            seconds=max(deadline - time.monotonic(), 0.01),
            max_bytes=MAX_BYTES,
        )
        document = json.loads(body)
    except http_post.Undelivered as error:
        raise UnreadableKeys(f"{url}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableKeys(_("%(url)s is not JSON") % {"url": url}) from error
    if not isinstance(document, dict):
        raise UnreadableKeys(_("%(url)s is not a JSON object") % {"url": url})
    return document


def _kept(key: Any) -> JsonDict:
    """Return the public members of a key for signatures; empty for any other, so that it does not spoil the set."""
    if not isinstance(key, dict):
        return {}
    kept = {name: key[name] for name in _MEMBERS if name in key}
    texts = (
        isinstance(text, str) and len(text) <= _MAX_MEMBER and text.isascii()
        for text in kept.values()
    )
    operations = key.get("key_ops", ["verify"])
    if (
        not all(texts)
        or kept.get("kty") not in {"RSA", "EC", "OKP"}
        or kept.get("use", "sig") != "sig"
        or not isinstance(operations, list)
        or "verify" not in operations
        or (kept["kty"] == "RSA" and len(kept.get("n", "")) < _MODULUS)
    ):
        return {}
    return kept


def fetch_for_call(issuer: Holder) -> Holder:
    """Return the issuer with keys that are newer than those of a call, if it may be asked again or is being asked."""
    rows = type(issuer).objects.filter(pk=issuer.pk)
    rested = Q(tried_at=None) | Q(tried_at__lte=Now() - AGAIN)
    if rows.filter(rested).update(tried_at=Now()):
        _fetch_and_store(issuer)
    else:
        # Another call asks at this moment, in this process or another one.
        unanswered = Q(answered_at=None) | Q(answered_at__lt=F("tried_at"))
        asking = rows.filter(unanswered, tried_at__gt=Now() - _WAIT)
        deadline = time.monotonic() + SECONDS
        while asking.exists() and time.monotonic() < deadline:
            release_connections()
            time.sleep(0.05)
    return rows.get()


def due_issuers(now: Any) -> QuerySet[TokenIssuer]:
    """Return the issuers whose keys are to be read again: `now` is a datetime, or the database's `Now()`."""
    return TokenIssuer.objects.filter(_stale(now), disabled_at=None)


def due_channel_issuers(now: Any) -> QuerySet[ChannelIssuer]:
    """Return the issuers of channels whose keys are to be read again."""
    return ChannelIssuer.objects.filter(_stale(now))


def _stale(now: Any) -> Q:
    return Q(answered_at=None) | Q(answered_at__lte=now - REFRESH)


def refresh_due_keys() -> None:
    """Read the keys of the issuers whose keys are old."""
    for due in (due_issuers(Now()), due_channel_issuers(Now())):
        for_each_due(due.order_by("answered_at"), partial(_refresh, due))


def _refresh(due: QuerySet[Any], issuer_id: int) -> None:
    issuer = due.filter(pk=issuer_id).first()
    # Of several processes, one reads them.
    if issuer is not None and due.filter(pk=issuer_id).update(answered_at=Now()):
        _fetch_and_store(issuer)


def _fetch_and_store(issuer: KeyHolder) -> None:
    release_connections()
    stored: dict[str, Any] = {"answered_at": Now()}
    try:
        stored |= {"keys": read_keys(issuer), "fetched_at": Now(), "problem": ""}
    except UnreadableKeys as error:
        stored["problem"] = str(error)[:300]
    type(issuer).objects.filter(pk=issuer.pk).update(**stored)
