"""Access tokens of issuers (JWT, RFC 9068), with which programs act instead of with an API key.

A token names its issuer and its client. One statement reads the mappings of these, which are keys, with the issuer and its public
keys; then the token is verified. Nothing that it says is used otherwise before that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from django.db.models import CharField, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.issuer_keys import KeyHolder, fetch_for_call
from approvals.access.standing import Standing, standing_with, with_standing
from approvals.access.token_claims import CLAIMS, SCOPE_CLAIMS, values_of
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.exceptions import IssuerUnavailable, NotAuthenticated, Refusal
from approvals.models import ApiKey, TokenIssuer
from approvals.models.actors import TokenBearer
from approvals.models.keys import live

MAX_TOKEN = 8_192
#: Difference of clocks that tokens are allowed, in seconds.
LEEWAY = 60
#: How long the keys of an issuer that does not answer are used.
MAX_AGE = timedelta(days=1)
MAX_AGENT = 100
_TYPES = frozenset({"at+jwt", "application/at+jwt"})
_OTHER_TYPES = frozenset({"jwt", ""})
#: Claims of ID tokens and log-out tokens, which say nothing about access.
_OTHER_USES = frozenset({"nonce", "at_hash", "c_hash", "events"})
_TIMES = ("exp", "nbf", "iat")
#: The latest expiry that is kept.
_LATEST = 2**33

#: The mappings of the issuer and the client of a token, with their owners and their rights.
_MAPPINGS: Prepared[ApiKey] = Prepared(
    lambda: with_standing(
        ApiKey.objects.select_related("user", "issuer").filter(
            live(),
            issuer__issuer=Parameter("issuer", CharField()),
            claim_value__in=any_of(Parameter("values", Values()), str),
        ),
        OuterRef("user"),
    )
)


@dataclass(frozen=True, slots=True)
class LiveToken:
    """A valid token: its mapping, the standing of the user, its scopes and bearer, and when it ends."""

    key: ApiKey
    standing: Standing
    scopes: frozenset[str]
    bearer: TokenBearer
    until: datetime


@dataclass(frozen=True, slots=True)
class _Unverified:
    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def issuer(self) -> str:
        return next(iter(values_of(self.claims, "iss")), "")


class _UnknownKey(NotAuthenticated):
    """The issuer publishes no such key, as far as is known."""


def find_token(text: str) -> LiveToken | None:
    """Return the valid token with this text, if a mapping of its issuer to an active user matches; else None."""
    try:
        return _accept(_read(text))
    except Refusal:
        return None


def refusal_of(text: str) -> Refusal:
    """Return why a token is refused."""
    try:
        token = _read(text)
        issuer = TokenIssuer.objects.filter(
            issuer=token.issuer, disabled_at=None
        ).first()
        if issuer is None:
            return NotAuthenticated(
                _(
                    "Pausepoint does not accept tokens of this issuer. Ask an administrator to add it, or send an API key."
                )
            )
        _verify(token, issuer)
    except Refusal as refusal:
        return refusal
    return NotAuthenticated(
        _(
            "This token is valid, but no mapping to an active user matches it. Ask an administrator to add one."
        )
    )


def _read(text: str) -> _Unverified:
    """Return the parts of a token, unverified. Raise NotAuthenticated."""
    if len(text) > MAX_TOKEN:
        raise _refused(_("it is longer than %(limit)s bytes") % {"limit": MAX_TOKEN})
    try:
        parts = jwt.decode_complete(text, options={"verify_signature": False})
    except (jwt.PyJWTError, RecursionError, ValueError) as error:
        raise _refused(_("it is not a JWT")) from error
    return _Unverified(text, parts["header"], parts["payload"])


def _accept(token: _Unverified) -> LiveToken:
    """Return a token after verifying it. Raise NotAuthenticated or IssuerUnavailable."""
    values = {name: values_of(token.claims, name) for name in CLAIMS}
    wanted = sorted({value for each in values.values() for value in each})
    rows = _MAPPINGS.all(issuer=token.issuer, values=wanted)
    matching = [row for row in rows if row.claim_value in values[row.claim]]
    if not matching:
        raise NotAuthenticated
    mapping = min(matching, key=lambda row: (CLAIMS.index(row.claim), row.pk))
    issuer: Any = mapping.issuer
    try:
        claims = _verify(token, issuer)
    except (_UnknownKey, IssuerUnavailable):
        claims = _verify(token, fetch_for_call(issuer))
    if not mapping.user.is_active:
        raise NotAuthenticated
    until = datetime.fromtimestamp(min(claims["exp"] + LEEWAY, _LATEST), UTC)
    return LiveToken(
        key=mapping,
        standing=standing_with(mapping, mapping.user_id, by_key=True),
        scopes=_scopes(claims, mapping, issuer),
        bearer=_bearer(claims),
        until=until,
    )


def _verify(token: _Unverified, issuer: TokenIssuer) -> dict[str, Any]:
    """Return the claims of a token that this issuer signed for us. Raise NotAuthenticated or IssuerUnavailable."""
    header = token.header
    allowed = _TYPES | _OTHER_TYPES if issuer.any_type else _TYPES
    algorithm = header.get("alg")
    if "crit" in header:
        raise _refused(_("it has the header crit, which is not supported"))
    if str(header.get("typ", "")).lower() not in allowed:
        raise _refused(_("its type is not at+jwt"))
    if algorithm not in issuer.algorithms:
        raise _refused(_("its algorithm is not allowed"))
    if _OTHER_USES & token.claims.keys():
        raise _refused(_("it is not an access token"))
    if any(type(token.claims.get(name, 0)) not in {int, float} for name in _TIMES):
        raise _refused(_("its times are not numbers"))
    keys = keys_for(header, issuer)
    if not keys:
        raise IssuerUnavailable if issuer.problem else _UnknownKey(_unknown_key())
    refused: jwt.PyJWTError | None = None
    for key in keys:
        try:
            claims: dict[str, Any] = jwt.decode(
                token.text,
                key=jwt.PyJWK(key, str(algorithm)),
                algorithms=[str(algorithm)],
                audience=issuer.audience,
                issuer=issuer.issuer,
                leeway=LEEWAY,
                options={"require": ["iss", "aud", "exp", "sub"]},
            )
        except jwt.PyJWTError as error:
            refused = error
        else:
            if not _text(claims, "sub"):
                raise _refused(_("the claim sub is unreadable"))
            return claims
    raise _refused(_why(refused)) from refused


def keys_for(header: Mapping[str, Any], issuer: KeyHolder) -> list[dict[str, Any]]:
    """Return the keys that the header names, or the only one if it names none."""
    if issuer.fetched_at is None or issuer.fetched_at < timezone.now() - MAX_AGE:
        return []
    fitting = [
        key for key in issuer.keys if key.get("alg", header["alg"]) == header["alg"]
    ]
    if "kid" in header:
        return [key for key in fitting if key.get("kid") == header["kid"]]
    return fitting if len(fitting) == 1 else []


def _refused(reason: str) -> NotAuthenticated:
    message = _("This token is refused: %(reason)s. Request a new one from its issuer.")
    return NotAuthenticated(message % {"reason": reason})


def _unknown_key() -> str:
    return _(
        "This token is refused: its issuer does not publish the key that signed it. If the issuer has just replaced its keys, "
        "try again in a minute."
    )


def _why(error: jwt.PyJWTError | None) -> str:
    match error:
        case jwt.ExpiredSignatureError():
            return _("it has expired")
        case jwt.ImmatureSignatureError():
            return _("it is not valid yet")
        case jwt.InvalidAudienceError():
            return _("it is meant for another audience")
        case jwt.MissingRequiredClaimError(claim=name):
            return _("the claim %(name)s is missing") % {"name": name}
    return _("its signature or a claim is invalid")


def _scopes(
    claims: Mapping[str, Any], mapping: ApiKey, issuer: TokenIssuer
) -> frozenset[str]:
    """Return the scopes of a mapping; where its issuer's tokens must name theirs, those that the token names."""
    if not issuer.scoped:
        return mapping.allowed_scopes
    named = {value for name in SCOPE_CLAIMS for value in values_of(claims, name)}
    return mapping.allowed_scopes & {
        re.sub(r"^pausepoint[:.]", "", value) for value in named
    }


def _bearer(claims: Mapping[str, Any]) -> TokenBearer:
    """Return the agent (the current actor of RFC 8693, else the client), and on whose behalf it acts."""
    subject = _text(claims, "sub")
    actor = claims.get("act")
    agent = _text(actor, "sub") if isinstance(actor, Mapping) else ""
    agent = agent or _text(claims, "azp") or _text(claims, "client_id") or subject
    return TokenBearer(_shortened(agent), "" if subject == agent else subject)


def _text(claims: Mapping[str, Any], name: str) -> str:
    return next(iter(values_of(claims, name)), "")


def _shortened(agent: str) -> str:
    """Return the name of an agent; the end of a long one is a digest, so that two never share a name."""
    if len(agent) <= MAX_AGENT:
        return agent
    end = hashlib.sha256(agent.encode()).hexdigest()[:16]
    return f"{agent[: MAX_AGENT - 17]}…{end}"
