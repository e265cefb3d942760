"""The provider's tokens: their signatures, and what they say of a person."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings

from hitlsite.accounts.transport import fetch

#: Difference of clocks that tokens are allowed.
LEEWAY = 60
#: Signatures that only the provider can make; a shared secret or none at all is not accepted.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
ALGORITHMS += ["ES256", "ES384", "ES512", "EdDSA"]
LOG_OUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
#: How old a log-out token may be.
LOG_OUT_SECONDS = 300
TEXTS = ("sub", "email", "name", "preferred_username")
MAX_TEXT = 254
#: allauth's column for `sub` is shorter than the standard's limit of 255.
MAX_SUBJECT = 191


def decode_id_token(
    token: str, *, config: Mapping[str, Any], nonce: str
) -> dict[str, Any]:
    """Return the claims of a valid ID token of the log-in with this nonce. Raise OAuth2Error."""
    require = ["iss", "sub", "aud", "exp", "iat"]
    claims = decode(token, config=config, require=require)
    if claims.get("azp", config["client_id"]) != config["client_id"]:
        raise OAuth2Error("token: issued to another client")
    if not nonce or claims.get("nonce") != nonce:
        raise OAuth2Error("token: of another log-in")
    if not 0 < len(claims["sub"]) <= MAX_SUBJECT:
        raise OAuth2Error("token: the subject is empty or too long")
    return claims


def decode_log_out_token(token: str, *, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of a valid token of back-channel log-out. Raise OAuth2Error."""
    require = ["iss", "aud", "iat", "jti", "events"]
    claims = decode(token, config=config, require=require)
    kind = str(jwt.get_unverified_header(token).get("typ", "JWT")).lower()
    events = claims["events"]
    names = [claims.get(name, "") for name in ("jti", "sub", "sid")]
    if (
        kind not in {"jwt", "logout+jwt"}
        or not isinstance(events, dict)
        or not isinstance(events.get(LOG_OUT_EVENT), dict)
        or "nonce" in claims
    ):
        raise OAuth2Error("token: not for log-out")
    if claims["iat"] < time.time() - LOG_OUT_SECONDS:
        raise OAuth2Error("token: too old")
    if not all(isinstance(name, str) for name in names):
        raise OAuth2Error("token: an id is no text")
    if not claims["jti"] or not any(names[1:]):
        raise OAuth2Error("token: names no one")
    return claims


def decode(
    token: str, *, config: Mapping[str, Any], require: Sequence[str]
) -> dict[str, Any]:
    """Return the claims of a token that the provider signed for us. Raise OAuth2Error."""
    try:
        keys = jwt.PyJWKSet.from_dict(fetch(config["jwks_uri"]))
        claims: dict[str, Any] = jwt.decode(
            token,
            key=_signing_key(keys, jwt.get_unverified_header(token)),
            algorithms=ALGORITHMS,
            audience=config["client_id"],
            issuer=config["issuer"],
            leeway=LEEWAY,
            options={"require": list(require)},
        )
    except jwt.PyJWTError as error:
        raise OAuth2Error(f"token: {error}") from error
    return claims


def _signing_key(keys: jwt.PyJWKSet, header: Mapping[str, Any]) -> jwt.PyJWK:
    """Return the key that the header names, or the only one. A key that is shared with us is none of the provider's own."""
    usable = [key for key in keys.keys if key.key_type != "oct"]
    named = [key for key in usable if key.key_id == header.get("kid")]
    if "kid" not in header and len(usable) == 1:
        named = usable
    if not named:
        raise OAuth2Error("token: signed with an unknown key")
    return named[0]


def clean(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return what we read of a person; values of another type, too long or with control characters are left out."""
    texts = {name: claims.get(name) for name in TEXTS}
    kept: dict[str, Any] = {
        name: text
        for name, text in texts.items()
        if isinstance(text, str) and len(text) <= MAX_TEXT and text.isprintable()
    }
    kept["sub"] = claims["sub"]
    kept["email_verified"] = claims.get("email_verified") in (True, "true")
    return kept


def sid_of(claims: Mapping[str, Any]) -> str:
    """Return the provider's id of its session; "" if it states none."""
    sid = claims.get("sid")
    if isinstance(sid, str) and len(sid) <= MAX_TEXT and sid.isprintable():
        return sid
    return ""


def moment(value: object) -> int:
    """Return when the provider last asked the person to log in; 0 if it does not say."""
    if isinstance(value, int) and 0 < value < time.time() + LEEWAY:
        return value
    return 0


def groups_in(claims: Mapping[str, Any]) -> list[str] | None:
    """Return the values of the group claim; None if they are elsewhere (Entra above 200 groups) or unreadable."""
    name = settings.OIDC_GROUPS_CLAIM
    elsewhere = claims.get("_claim_names", {})
    if claims.get("hasgroups") or not isinstance(elsewhere, dict) or name in elsewhere:
        return None
    groups = claims.get(name, [])
    values = [groups] if isinstance(groups, str) else groups
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return values
    return None
