"""Call the Bot Connector with the bot's own access token. Each call is sent once, and only to the configured address."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connections

from approvals import http_post
from approvals.actions.channels.connections import note_problem, secrets_of
from approvals.channels.messenger import ChannelError
from approvals.db.canonical_json import NotCanonical, parse
from approvals.db.cursors import number_from
from approvals.http_post import FullResponse
from approvals.json_types import JsonDict
from approvals.models import ChannelConnection

MAX_BYTES = 200_000
#: How long before its end an access token is no longer used, in seconds.
MARGIN = 300
SCOPE = "https://api.botframework.com/.default"
_CODE = re.compile(r"\w{1,60}", re.ASCII)


class TeamsError(ChannelError):
    """Teams or its log-in refused a call; `code` is their word for it, or the status."""

    PASSING = frozenset(
        {"unreachable", "ratelimited", "not_json", "ServiceError"}
        | {f"http_{status}" for status in (408, 500, 502, 503, 504)}
    )
    GONE = frozenset(
        {"ConversationNotFound", "ActivityNotFoundInConversation", "http_404"}
        | {"BotNotInConversationRoster", "ForbiddenOperationException", "NotFound"}
    )


@dataclass(frozen=True, slots=True)
class _AccessToken:
    text: str
    until: float


#: Access tokens of this process, by the secrets that they were issued for.
_tokens: dict[tuple[str, str, str], _AccessToken] = {}


def call(
    connection: ChannelConnection,
    method: str,
    path: str,
    body: JsonDict,
    about: str = "",
) -> JsonDict:
    """Call the connector, and note the state of the connection. Raise TeamsError."""
    secrets = secrets_of(connection)
    connections.close_all()  # No database connection is held during the network calls.
    try:
        if secrets is None:
            raise TeamsError("secret_key_changed")
        known = (connection.team_id, connection.app_id, secrets.client_secret)
        answer = _called(access_token(*known), method, path, body)
    except TeamsError as error:
        if error.code == "http_401" and secrets is not None:
            _tokens.pop(known, None)
        note_problem(connection, error.code, about)
        raise
    note_problem(connection, "", about)
    return answer


def in_path(value: str) -> str:
    return quote(value, safe="")


def access_token(tenant: str, app_id: str, client_secret: str) -> str:
    """Return a token of the bot, from Entra if the last one ends soon. Raise TeamsError."""
    known = (tenant, app_id, client_secret)
    stored = _tokens.get(known)
    if stored is not None and stored.until > time.monotonic():
        return stored.text
    fields = {
        "grant_type": "client_credentials",
        "client_id": app_id,
        "client_secret": client_secret,
        "scope": SCOPE,
    }
    url = f"{settings.TEAMS_LOGIN_URL}{in_path(tenant)}/oauth2/v2.0/token"
    kind = "application/x-www-form-urlencoded"
    answer = _exchange("POST", url, urlencode(fields).encode(), {"Content-Type": kind})
    token, seconds = answer.get("access_token"), answer.get("expires_in")
    if not isinstance(token, str) or not token.isascii() or type(seconds) is not int:
        raise TeamsError("not_json")
    _tokens[known] = _AccessToken(token, time.monotonic() + seconds - MARGIN)
    return token


def _called(token: str, method: str, path: str, body: JsonDict) -> JsonDict:
    url = f"{settings.TEAMS_SERVICE_URL}v3/conversations{path}"
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "Pausepoint",
    }
    return _exchange(
        method, url, json.dumps(body, ensure_ascii=False).encode(), headers
    )


def _exchange(
    method: str, url: str, body: bytes, headers: Mapping[str, str]
) -> JsonDict:
    try:
        reply = http_post.exchange(
            method,
            url,
            body,
            headers,
            allow_private=settings.HITL_WEBHOOK_ALLOW_PRIVATE,
            seconds=http_post.SECONDS,
            max_bytes=MAX_BYTES,
        )
    except http_post.Undelivered as error:
        raise TeamsError("unreachable") from error
    if reply.status == 429:
        wait = number_from(reply.retry_after, digits=5) or 1
        raise TeamsError("ratelimited", wait)
    answer = _body(reply)
    if not 200 <= reply.status < 300:
        raise TeamsError(_code(answer) or f"http_{reply.status}")
    return answer


def _body(reply: FullResponse) -> JsonDict:
    """Return the answer; empty if there is none, or if it is not an object."""
    try:
        body = parse(reply.body.decode())
    except (NotCanonical, UnicodeDecodeError):
        return {}
    return body if isinstance(body, dict) else {}


def _code(answer: JsonDict) -> str:
    """Return the code of a refusal: of the connector in an object, of the log-in as a text."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else error
    return code if isinstance(code, str) and _CODE.fullmatch(code) else ""
