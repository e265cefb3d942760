"""Serve `/healthz`, `/readyz` and `/metrics` for monitoring.

An ASGI application in front of Django's, without sessions, log-in, host names or page threads. The database is read on one
separate thread with a time limit, so that a hanging database blocks only that thread.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from approvals.db import pool
from approvals.live.liveness import RoundTrip
from approvals.live.streaming import Application, Receive, Send
from hitlsite.health import metrics, readiness
from hitlsite.health.cached_answer import CachedAnswer

logger = logging.getLogger(__name__)

T = TypeVar("T")

ADDRESSES = ("/healthz", "/readyz", "/metrics")
#: Time limit for reading the database, in seconds.
TIMEOUT = 3.0
READY_FOR = 1.0
MEASURED_FOR = 5.0
#: Headers of a proxy on this machine, behind which all clients seem to be local.
FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})

Scope = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProbeResponse:
    """Status, content type and body."""

    status: int
    kind: str
    body: bytes


def text_answer(status: int, text: str) -> ProbeResponse:
    """Return an answer of plain text."""
    return ProbeResponse(status, "text/plain; charset=utf-8", f"{text}\n".encode())


class Probes:
    """ASGI application: these three addresses, and `app` for all others."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self._thread = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="pausepoint-probes"
        )
        self._round_trip = RoundTrip()
        self._metrics = metrics.Metrics()
        self._ready = CachedAnswer(self._find_problems, READY_FOR)
        self._measured = CachedAnswer(self._measure, MEASURED_FOR)
        self._answers: Mapping[str, Callable[[Scope], Awaitable[ProbeResponse]]] = {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._show_metrics,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answering = self._answers.get(scope["path"])
        if answering is None:
            await self.app(scope, receive, send)
            return
        known = scope["method"] in {"GET", "HEAD"}
        answer = (
            await answering(scope)
            if known
            else text_answer(405, _("This URL only accepts GET."))
        )
        headers = [
            (b"content-type", answer.kind.encode()),
            (b"content-length", str(len(answer.body)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *([] if known else [(b"allow", b"GET, HEAD")]),
        ]
        await send(
            {"type": "http.response.start", "status": answer.status, "headers": headers}
        )
        await send(
            {
                "type": "http.response.body",
                "body": b"" if scope["method"] == "HEAD" else answer.body,
            }
        )

    async def _healthz(self, scope: Scope) -> ProbeResponse:
        return text_answer(200, "ok")

    async def _readyz(self, scope: Scope) -> ProbeResponse:
        wrong = await self._ready.get()
        body = json.dumps({"ready": not wrong, "wrong": wrong}).encode()
        return ProbeResponse(503 if wrong else 200, "application/json", body)

    async def _show_metrics(self, scope: Scope) -> ProbeResponse:
        return refusal_of_metrics(scope) or await self._measured.get()

    async def _find_problems(self) -> list[str]:
        database_problems, layer_problems = await asyncio.gather(
            self._database(), readiness.check_channel_layer(self._round_trip, TIMEOUT)
        )
        return [*database_problems, *layer_problems]

    async def _database(self) -> list[str]:
        try:
            return await self._within(readiness.find_problems)
        except Exception as error:
            # The error may name hosts and users, so it goes only to the log.
            logger.warning("Not ready: the database does not answer (%s)", error)
            return [_("database: no answer")]

    async def _measure(self) -> ProbeResponse:
        try:
            return ProbeResponse(
                200, metrics.CONTENT_TYPE, await self._within(self._metrics.text)
            )
        except Exception as error:
            logger.warning("No metrics: the database does not answer (%s)", error)
            # Prometheus ignores the body of any other status.
            return ProbeResponse(200, metrics.CONTENT_TYPE, metrics.DOWN)

    async def _within(self, work: Callable[[], T]) -> T:
        """Call `work` on the probes' thread. Raise TimeoutError after TIMEOUT, while the thread keeps running."""
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(
            loop.run_in_executor(self._thread, pool.call_and_close, work), TIMEOUT
        )


def refusal_of_metrics(scope: Scope) -> ProbeResponse | None:
    """Return why this client may not read the metrics, which reveal tools and workload; None if it may."""
    headers: list[tuple[bytes, bytes]] = [
        (name.lower(), value) for name, value in scope["headers"]
    ]
    if settings.METRICS_TOKEN:
        sent = [
            value.decode("latin-1")
            for name, value in headers
            if name == b"authorization"
        ]
        # Compared as bytes, because clients may send non-ASCII text.
        wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
        good = len(sent) == 1 and constant_time_compare(
            sent[0].encode("latin-1"), wanted
        )
        if good:
            return None
        return text_answer(
            401,
            _(
                "Authentication is required. Send METRICS_TOKEN as `Authorization: Bearer ...`."
            ),
        )
    forwarded = any(name in FORWARDED for name, _ in headers)
    if forwarded or not is_on_this_machine(scope.get("client")):
        return text_answer(
            403,
            _(
                "Metrics are only available on this machine because METRICS_TOKEN is not set."
            ),
        )
    return None


def is_on_this_machine(client: Any) -> bool:
    """Return whether a client `(host, port)` is on this machine."""
    try:
        address = ipaddress.ip_address(client[0])
    except (TypeError, ValueError, IndexError):
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
