"""Calls and their retries.

A `Flow` does not send anything itself: it yields calls and pauses, and receives the result of each. `Desk` and `AsyncDesk` differ
only in how they execute these.
"""

from __future__ import annotations

import hmac
import json
import math
import os
import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from .errors import NotUnderstood, Refused, Unreachable

try:
    from opentelemetry.trace.propagation.tracecontext import (
        TraceContextTextMapPropagator,
    )
except ImportError:
    TraceContextTextMapPropagator = None  # type: ignore[assignment, misc]

#: Seconds that one call waits for the decision, and seconds that any call may take in addition.
WAIT, GRACE = 50, 20
#: Temporary statuses: a restarting server, a proxy without a server, too many calls.
PASSING = {408, 425, 429, 500, 502, 503, 504}
#: Initial and maximum seconds between two attempts.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 15.0
#: No limit: a call waiting for a free connection would look like an unreachable server.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Seconds that the response may take.
    seconds: float = GRACE

    @property
    def content(self) -> bytes | None:
        return (
            None
            if self.body is None
            else json.dumps(self.body, allow_nan=False).encode()
        )


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    content: bytes
    #: Seconds before the next attempt, as requested by the server.
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The call or its response was lost."""

    reason: str


Reply = Response | ConnectionLost | None
Flow = Generator[Call | Pause, Reply, T]


def sure(call: Call, patience: float) -> Flow[dict[str, Any]]:
    """Return the JSON response of a call, retried until there is a final one. Raise Refused or Unreachable."""
    pause, until = FIRST_PAUSE, math.inf
    while True:
        reply = yield call
        if isinstance(reply, Response) and reply.status not in PASSING:
            return read(reply)
        # Patience counts from the first failure: a call may wait for long before it fails.
        until = min(until, time.monotonic() + patience)
        left = until - time.monotonic()
        if left <= 0:
            status = getattr(reply, "status", None)
            reason = (
                reply.reason
                if isinstance(reply, ConnectionLost)
                else f"it answered {status}"
            )
            raise Unreachable(
                f"Pausepoint cannot be reached: {reason}. Check the address, and that the server runs."
            )
        asked_for = reply.retry_after if isinstance(reply, Response) else 0.0
        # Random, because many agents may be waiting for the same server to come back.
        yield Pause(min(max(asked_for, pause * random.uniform(0.5, 1.5)), left))  # noqa: S311
        pause = min(2 * pause, LONGEST_PAUSE)


def read(response: Response) -> dict[str, Any]:
    try:
        document = json.loads(response.content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise NotUnderstood(
            "The response is not from Pausepoint. Check the address.", response.status
        )
    if not 200 <= response.status < 300:
        raise Refused(response.status, document)
    return document


def sendable(name: str, value: str) -> str:
    """Return `value` if it can be sent in a header, or raise ValueError."""
    if not value.isascii() or not value.isprintable():
        raise ValueError(f"{name} may contain only printable ASCII: {value!r}")
    return value


def place(kind: str, known_by: str, then: str = "") -> str:
    return f"/{kind}/{quote(known_by, safe='')}{then}"


def retry_after(response: httpx.Response) -> float:
    """Return the server's requested delay in seconds before the next attempt; 0 if there is none."""
    asked_for = response.headers.get("retry-after", "")
    return float(asked_for) if asked_for.isdecimal() else 0.0


def response_of(response: httpx.Response) -> Response:
    return Response(response.status_code, response.content, retry_after(response))


def trace_headers() -> dict[str, str]:
    """Return the current trace context of OpenTelemetry, without its baggage; empty without a span, or if it is not installed."""
    headers: dict[str, str] = {}
    if TraceContextTextMapPropagator is not None:
        TraceContextTextMapPropagator().inject(headers)
    return headers


def check_address(address: str) -> None:
    """Raise ValueError for an address that httpx would refuse or misread at the first call."""
    reason = ""
    try:
        url = httpx.URL(address)
        if (
            url.host
            and (url.port is None or 1 <= url.port <= 65_535)
            and not url.query
            and not url.fragment
        ):
            return
    except (httpx.InvalidURL, ValueError) as error:
        reason = f" ({error})"
    raise ValueError(
        f"This is not the address of a server: {address!r}{reason}. Give one like https://desk.example.com:8443."
    )


#: A key, or a function that returns the present token of an issuer.
Key = str | Callable[[], str]


class Settings:
    """The address and the key, by default from the environment."""

    def __init__(
        self,
        address: str = "",
        key: Key = "",
        *,
        patience: float = 300.0,
        secret: str = "",
    ) -> None:
        """Retry for `patience` seconds if the server cannot be reached.

        `key` may be a function, for tokens that expire: it is called before each attempt, so let it keep its token until that
        expires. Names of calls are then derived from `secret`, a random text that stays the same in all of your processes.
        """
        address, key = (
            address or os.environ.get("PAUSEPOINT_URL", ""),
            key or os.environ.get("PAUSEPOINT_KEY", ""),
        )
        if not address or not key:
            raise ValueError(
                "Give the address and a key of Pausepoint, or set PAUSEPOINT_URL and PAUSEPOINT_KEY."
            )
        if not address.startswith(("http://", "https://")):
            raise ValueError(
                f"The address must begin with https:// or http://: {address!r}"
            )
        check_address(address)
        self.patience = patience
        self.base = address.rstrip("/") + "/api/v1"
        self._key = key if callable(key) else sendable("key", key)
        self._secret = secret or os.environ.get("PAUSEPOINT_SECRET", "")

    @property
    def headers(self) -> dict[str, str]:
        key = self._key() if callable(self._key) else self._key
        return {
            "Authorization": f"Bearer {sendable('key', key)}",
            "User-Agent": "pausepoint-python",
        }

    def name_of(self, content: str) -> str:
        """Return a name for a call that is identified by its content, always the same for this key or secret.

        People see the names of calls. If a name did not depend on a secret, hidden values could be found by brute force.
        """
        if callable(self._key) and not self._secret:
            raise ValueError(
                "Tokens change, so names of calls need a secret that stays the same: give `secret`, or set PAUSEPOINT_SECRET."
            )
        secret = self._secret or f"Bearer {self._key}"
        return hmac.new(secret.encode(), content.encode(), "sha256").hexdigest()[:40]

    def _connection_lost(self, error: httpx.TransportError) -> ConnectionLost:
        return ConnectionLost(
            f"no response from {self.base} ({f'{type(error).__name__} {error}'.strip()})"
        )

    def _request(self, call: Call) -> dict[str, Any]:
        headers = {**trace_headers(), **self.headers, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        # A server that does not accept connections is away; one that answers slowly is not.
        timeout = httpx.Timeout(
            GRACE, connect=min(GRACE, max(1.0, self.patience)), read=call.seconds
        )
        url = self.base + call.path
        return {
            "method": call.method,
            "url": url,
            "content": call.content,
            "headers": headers,
            "timeout": timeout,
        }
