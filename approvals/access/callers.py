"""Identify the callers of addresses for programs (`/api/`, `/chat`), and find the key behind a Bearer token.

A caller sends an API key, an issuer's access token or a client token as Bearer, or a browser session (with CSRF).
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core import signing
from django.db import transaction
from django.db.models import CharField, OuterRef
from django.http import HttpRequest
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from approvals.access import rate_limits
from approvals.access.factors import stopped
from approvals.access.sessions import (
    encrypt_session,
    user_of,
    user_of_encrypted_session,
)
from approvals.access.standing import (
    Standing,
    standing_of,
    standing_with,
    with_standing,
)
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import async_commit
from approvals.exceptions import (
    AddressNotAllowed,
    IssuerUnavailable,
    NotAuthenticated,
    PersonNeeded,
    Refusal,
    ScopeMissing,
)
from approvals.models.actors import Actor, KeyActor, SessionActor, TokenBearer
from approvals.models.keys import NOT_FOR_OTHERS, ApiKey, hash_of, live, prefix_in
from approvals.trace_context import trace_context

SCOPES = ("ask", "decide", "read", "audit", "grant", "absence", "advise")
#: The scope of keys for SCIM, which have no other one.
SCIM = "scim"
DEFAULT_SCOPES = ("ask", "read")
#: Prefix of the scope of a key's requests; the id of the key follows.
KEY_SCOPE = "key:"
#: Prefix of the scope of requests made through the API with a browser session.
USER_SCOPE = "user:"
#: Precision of a key's last use.
USE_INTERVAL = timedelta(minutes=1)
ALL = frozenset(SCOPES)
#: Possible scopes of a client token. It cannot read the audit log.
TOKEN_SCOPES = frozenset({"ask", "read", "decide"})
#: Where SCIM is.
SCIM_ADDRESS = "/scim/"
TOKEN_SECONDS = 900
MAX_TOKEN_SECONDS = 3600
_TOKEN_PREFIX = "ppt_"  # noqa: S105 - a prefix, not a token
_signer = signing.Signer(salt="approvals.client-token")

#: The key of a token, with its owner and their rights.
_LIVE: Prepared[ApiKey] = Prepared(
    lambda: with_standing(
        ApiKey.objects.select_related("user").filter(
            live(), issuer=None, prefix=Parameter("prefix", CharField())
        ),
        OuterRef("user"),
    )
)


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A valid key, and the standing of its user."""

    key: ApiKey
    standing: Standing


def find_key(text: str) -> LiveKey | None:
    """Return the valid key of a Bearer token; None if it is unknown, revoked or expired, or its user is inactive."""
    prefix = prefix_in(text)
    key = _LIVE.first(prefix=prefix) if prefix else None
    if key is None or not key.user.is_active or not _is_of(key, text):
        return None
    return LiveKey(key, standing_with(key, key.user_id, by_key=True))


def known_key_of(text: str) -> ApiKey | None:
    """Return the key with this text, valid or not; None if there is none."""
    prefix = prefix_in(text)
    rows = ApiKey.objects.select_related("user")
    key = rows.filter(prefix=prefix).first() if prefix else None
    return key if key is not None and _is_of(key, text) else None


def _is_of(key: ApiKey, text: str) -> bool:
    return secrets.compare_digest(key.secret_hash, hash_of(text))


def record_use(key: ApiKey, address: str = "") -> None:
    """Store when and from where a key was last used, to the minute: a busy client must not cost one write per request."""
    now = timezone.now()
    if key.last_used_at is not None and now - key.last_used_at <= USE_INTERVAL:
        return
    with transaction.atomic():
        # If this write is lost, the next use of the key repeats it.
        async_commit()
        ApiKey.objects.filter(pk=key.pk).update(
            last_used_at=now, last_used_from=address[:60]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The user behind a call, with their rights and the limits of the call.

    `confined_to` is the id of the only chat that a client token may use.
    """

    user: User
    standing: Standing
    scopes: frozenset[str]
    key: ApiKey | None = None
    #: Who sent an issuer's token.
    bearer: TokenBearer | None = None
    confined_to: str | None = None
    #: The key of the browser session, if the caller was identified by one.
    session_key: str = field(default="", repr=False)
    #: For a client token: the key of the session that created it. For it and for an issuer's token: its expiry.
    token_session: str = field(default="", repr=False)
    token_until: datetime | None = None
    #: Whether the call was counted against the limit on asking.
    counted: bool = False
    #: The trace in which the program calls (`approvals.trace_context`).
    trace: dict[str, str] | None = None

    @property
    def by_session(self) -> bool:
        return bool(self.session_key)

    @property
    def actor(self) -> Actor:
        """The author of decisions, requests and comments: the key if there is one, else the user in a browser."""
        if self.key is not None:
            return KeyActor(self.user, self.key, self.token_until, self.bearer)
        return SessionActor(
            self.user, self.session_key or self.token_session, self.token_until
        )

    @property
    def scope(self) -> str:
        """The scope of the caller's requests and workflows, so that ids of two keys never collide."""
        return (
            f"{KEY_SCOPE}{self.key.pk}" if self.key else f"{USER_SCOPE}{self.user.pk}"
        )

    @property
    def agent(self) -> str:
        """The agent that an issuer's token names; empty for other callers."""
        return "" if self.bearer is None else self.bearer.agent

    def require(self, *scopes: str) -> None:
        """Raise ScopeMissing unless the caller has one of these scopes, or PersonNeeded if no issuer's token can have one."""
        if not self.scopes.isdisjoint(scopes):
            return
        if self.bearer is not None and NOT_FOR_OTHERS.issuperset(scopes):
            raise PersonNeeded
        raise ScopeMissing(scopes[-1])


class MachineMiddleware(MiddlewareMixin):
    """Set `caller` on every request to an address for programs; None if the caller is unknown.

    With a Bearer token, cookies are ignored, so CSRF is not an issue.
    """

    def process_request(self, request: HttpRequest) -> None:
        if is_for_machines(request.path):
            caller = self._caller(request)
            if caller is not None and "traceparent" in request.headers:
                caller = replace(caller, trace=trace_context(request.headers))
            request.caller = caller  # type: ignore[attr-defined]
            # Without a token the caller is identified by a cookie, which another site's page could make the browser send.
            request._dont_enforce_csrf_checks = caller is None or has_token(request)  # type: ignore[attr-defined]

    def _caller(self, request: HttpRequest) -> Caller | None:
        token = _token_of(request)
        if token is not None:
            caller = caller_by_token(token, rate_limits.client_address(request))
            if caller and SCIM in caller.scopes and not is_scim(request.path):
                caller = None
            request.user = caller.user if caller else AnonymousUser()
            return caller
        if not isinstance(request.user, User):
            return None
        return _by_session(request.user, request.session.session_key or "")


def _by_session(user: User, session_key: str) -> Caller:
    return Caller(
        user=user, standing=standing_of(user), scopes=ALL, session_key=session_key
    )


def is_for_machines(path: str) -> bool:
    """Return whether an address is for programs, so that no browser displays its response."""
    return re.match(settings.MACHINE_URLS_REGEX, path) is not None


def is_scim(path: str) -> bool:
    """Return whether an address belongs to SCIM, which has its own form of errors."""
    return path.startswith(SCIM_ADDRESS)


def has_token(request: HttpRequest) -> bool:
    """Return whether this call has a Bearer token, valid or not, so that cookies are ignored."""
    return is_for_machines(request.path) and _token_of(request) is not None


def refusal_for_unknown(request: HttpRequest) -> Refusal:
    """Return the refusal of a request without a valid key, token or session.

    A wrong key counts against its client address. Valid keys from the same address are still accepted.
    """
    token = _token_of(request)
    if not token:
        return NotAuthenticated()
    if _is_jwt(token):
        from approvals.access import tokens  # noqa: PLC0415 - loaded late

        refusal = tokens.refusal_of(token)
        if isinstance(refusal, IssuerUnavailable):
            return refusal
    address = rate_limits.client_address(request)
    try:
        rate_limits.count_wrong_key(address)
    except rate_limits.TooMany as too_many:
        return too_many
    if _is_jwt(token):
        return refusal
    key = known_key_of(token)
    if key is not None and key.revoked_at is None:
        if key.expires_at is not None and key.expires_at <= timezone.now():
            message = _(
                "This key expired on %(date)s and no longer works. Create a new one in Pausepoint under Settings > "
                "API keys, or ask an administrator for one."
            )
            return NotAuthenticated(message % {"date": f"{key.expires_at:%Y-%m-%d}"})
        if not key.works_from(address):
            return AddressNotAllowed()
        if SCIM in key.scopes:
            return NotAuthenticated(_("This key only works for SCIM."))
    return NotAuthenticated(
        _("This key or token is mistyped, expired or revoked. Send a valid one.")
    )


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller. Raise NotAuthenticated."""
    caller = getattr(request, "caller", None)
    if not isinstance(caller, Caller):
        raise NotAuthenticated
    return caller


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a request, kept by a long response to check them again."""

    token: str | None
    session_key: str | None
    address: str = ""

    def caller(self) -> Caller | None:
        """Return the caller as of now; None after the key or token was revoked or expired, or the session ended."""
        if self.token is not None:
            caller = caller_by_token(self.token, self.address)
            return None if caller and stopped({caller.user.pk}) else caller
        user = user_of(self.session_key) if self.session_key else None
        return None if user is None else _by_session(user, self.session_key or "")


def credentials_of(request: HttpRequest) -> Credentials:
    token = _token_of(request)
    # Calls with a token have no session.
    session_key = request.session.session_key if token is None else None
    return Credentials(token, session_key, rate_limits.client_address(request))


def _token_of(request: HttpRequest) -> str | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def caller_by_token(token: str, address: str = "") -> Caller | None:
    """Return the caller behind a Bearer token; None if it is unknown, revoked or expired, or a key not used from its ranges.

    The ranges of a key do not limit its client tokens, which are for browsers elsewhere.
    """
    if token.startswith(_TOKEN_PREFIX):
        return _by_client_token(token.removeprefix(_TOKEN_PREFIX))
    if _is_jwt(token):
        return _by_issuer_token(token, address)
    live_key = find_key(token)
    if live_key is None or not live_key.key.works_from(address):
        return None
    key = live_key.key
    record_use(key, address)
    return Caller(
        user=key.user, standing=live_key.standing, scopes=key.allowed_scopes, key=key
    )


def _is_jwt(token: str) -> bool:
    return token.startswith("ey") and token.count(".") == 2


def _by_issuer_token(text: str, address: str) -> Caller | None:
    from approvals.access import tokens  # noqa: PLC0415 - loaded late

    token = tokens.find_token(text)
    if token is None:
        return None
    record_use(token.key, address)
    return Caller(
        user=token.key.user,
        standing=token.standing,
        scopes=token.scopes,
        key=token.key,
        bearer=token.bearer,
        token_until=token.until,
    )


def client_token(caller: Caller, *, thread: str, seconds: int = TOKEN_SECONDS) -> str:
    """Return a token for one of the caller's chats, for a browser that must not hold a key.

    It has only scopes of its creator, and ends with the key, token or session that created it.
    """
    scopes = sorted(caller.scopes & TOKEN_SCOPES)
    bearer = caller.bearer
    made = {
        "user": caller.user.pk,
        "thread": thread,
        "scopes": scopes,
        "until": client_token_end(caller, seconds).timestamp(),
        "key": caller.key.pk if caller.key else None,
        "bearer": bearer and [bearer.agent, bearer.on_behalf_of],
        "session": encrypt_session(caller.session_key, caller.user)
        if caller.by_session
        else None,
    }
    return _TOKEN_PREFIX + _signer.sign_object(made, compress=True)


def client_token_end(caller: Caller, seconds: int) -> datetime:
    """Return when a client token ends: after so many seconds, or with the issuer's token behind it."""
    end = timezone.now() + timedelta(seconds=seconds)
    return min(end, caller.token_until or end)


def _by_client_token(text: str) -> Caller | None:
    try:
        made = _signer.unsign_object(text)
    except signing.BadSignature:
        return None
    if made["until"] <= timezone.now().timestamp():
        return None
    session_key = ""
    if session := made.get("session"):
        session_key, user = user_of_encrypted_session(session, made["user"])
    else:
        user = User.objects.filter(pk=made["user"], is_active=True).first()
    key = ApiKey.objects.filter(live(), pk=made["key"]).first() if made["key"] else None
    if user is None or (made["key"] and key is None):
        return None
    scopes = frozenset(made["scopes"])
    if key is not None:
        # The key may have lost scopes since it created the token.
        scopes &= frozenset(key.scopes)
    return Caller(
        user=user,
        standing=standing_of(user if key is None else KeyActor(user, key)),
        scopes=scopes,
        key=key,
        bearer=TokenBearer(*made["bearer"]) if made.get("bearer") else None,
        confined_to=made["thread"],
        token_session=session_key,
        token_until=datetime.fromtimestamp(made["until"], UTC),
    )
