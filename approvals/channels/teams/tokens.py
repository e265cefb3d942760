"""Check the token with which Teams calls, offline, with the stored keys of its issuers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import jwt
from django.conf import settings

from approvals.access.issuer_keys import fetch_for_call
from approvals.access.tokens import keys_for
from approvals.channels.teams.issuers import BOT_FRAMEWORK
from approvals.models import ChannelConnection, ChannelIssuer

MAX_TOKEN = 8_192
#: Difference of clocks that tokens are allowed, in seconds.
LEEWAY = 300
ALGORITHM = "RS256"
#: Apps of Microsoft whose tokens of Entra bring activities; anyone in the tenant can get a token for our app.
CALLERS = frozenset({"5a807f24-c9de-44ee-a3a7-329e88a00ffc"})
#: Hosts of the connector, besides the configured one, that activities with tokens of Entra may name.
SERVICE_HOSTS = frozenset({"smba.trafficmanager.net"})


def is_from_teams(
    connection: ChannelConnection, token: str, activity: Mapping[str, Any]
) -> bool:
    """Return whether this token proves that Teams sent the activity to this bot."""
    try:
        claims = _verified(connection, token)
    except (jwt.PyJWTError, RecursionError, ValueError):
        return False
    service = activity.get("serviceUrl")
    if claims is None or not isinstance(service, str):
        return False
    if claims["iss"] == BOT_FRAMEWORK:
        named = claims.get("serviceurl")
        return isinstance(named, str) and named.rstrip("/") == service.rstrip("/")
    caller = claims["azp"] if "azp" in claims else claims.get("appid")
    known = isinstance(caller, str) and caller.lower() in CALLERS
    return known and claims.get("tid") == connection.team_id and _is_service(service)


def _verified(connection: ChannelConnection, token: str) -> dict[str, Any] | None:
    if len(token) > MAX_TOKEN:
        return None
    parts = jwt.decode_complete(token, options={"verify_signature": False})
    header, claims = parts["header"], parts["payload"]
    issuer = claims.get("iss")
    if header.get("alg") != ALGORITHM or "crit" in header or "kid" not in header:
        return None
    rows = ChannelIssuer.objects.filter(connection=connection)
    stored = rows.filter(issuer=issuer).first() if isinstance(issuer, str) else None
    if stored is None:
        return None
    keys = keys_for(header, stored) or keys_for(header, fetch_for_call(stored))
    return _decoded(connection, token, stored, keys[0]) if keys else None


def _decoded(
    connection: ChannelConnection, token: str, issuer: ChannelIssuer, key: Any
) -> dict[str, Any]:
    own = connection.app_id
    claims: dict[str, Any] = jwt.decode(
        token,
        key=jwt.PyJWK(key, ALGORITHM),
        algorithms=[ALGORITHM],
        audience=[own, f"api://{own}", f"api://botid-{own}"],
        issuer=issuer.issuer,
        leeway=LEEWAY,
        options={"require": ["iss", "aud", "exp"]},
    )
    return claims


def _is_service(url: str) -> bool:
    address = urlsplit(url)
    own = urlsplit(settings.TEAMS_SERVICE_URL)
    configured = (address.scheme, address.netloc) == (own.scheme, own.netloc)
    known = address.scheme == "https" and address.netloc in SERVICE_HOSTS
    return configured or known
