"""What machines that look after this one ask: `/healthz`, `/readyz` and `/metrics`.

An ASGI application in front of Django's: no session, no log-in, no host name, none of the pages' threads. The database is
looked at on one thread of its own and for a limited time, so that one that hangs costs no more than that.
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

from approvals.live.echo import Echo
from approvals.live.streaming import Application, Receive, Send
from approvals.runtime import database
from hitlsite.health import metrics, readiness
from hitlsite.health.remembered import Remembered

logger = logging.getLogger(__name__)

T = TypeVar("T")

ADDRESSES = ("/healthz", "/readyz", "/metrics")
#: Seconds that a look at the database may take.
PATIENCE = 3.0
READY_FOR, MEASURED_FOR = 1.0, 5.0
#: What a proxy on this machine adds: behind it, everybody seems to come from here.
FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})

Scope = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, content type and body."""

    status: int
    kind: str
    body: bytes


def plain(status: int, words: str) -> Answer:
    return Answer(status, "text/plain; charset=utf-8", f"{words}\n".encode())


class Probes:
    """ASGI application: the three addresses, and `app` for all others."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pausepoint-probes")
        self._echo = Echo()
        self._metrics = metrics.Metrics()
        self._ready = Remembered(self._look, READY_FOR)
        self._measured = Remembered(self._measure, MEASURED_FOR)
        self._answers: Mapping[str, Callable[[Scope], Awaitable[Answer]]] = {
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
        answer = await answering(scope) if known else plain(405, _("This URL only accepts GET."))
        headers = [
            (b"content-type", answer.kind.encode()),
            (b"content-length", str(len(answer.body)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *([] if known else [(b"allow", b"GET, HEAD")]),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _healthz(self, scope: Scope) -> Answer:
        return plain(200, "ok")

    async def _readyz(self, scope: Scope) -> Answer:
        wrong = await self._ready.get()
        body = json.dumps({"ready": not wrong, "wrong": wrong}).encode()
        return Answer(503 if wrong else 200, "application/json", body)

    async def _show_metrics(self, scope: Scope) -> Answer:
        return refused(scope) or await self._measured.get()

    async def _look(self) -> list[str]:
        stored, heard = await asyncio.gather(self._database(), readiness.listen(self._echo, PATIENCE))
        return [*stored, *heard]

    async def _database(self) -> list[str]:
        try:
            return await self._within(readiness.look)
        except Exception as error:
            # Its words may name hosts and users, and are for the log.
            logger.warning("Not ready: the database does not answer (%s)", error)
            return [_("database: no answer")]

    async def _measure(self) -> Answer:
        try:
            return Answer(200, metrics.CONTENT_TYPE, await self._within(self._metrics.text))
        except Exception as error:
            logger.warning("No metrics: the database does not answer (%s)", error)
            # With another status Prometheus would not read what it says.
            return Answer(200, metrics.CONTENT_TYPE, metrics.DOWN)

    async def _within(self, work: Callable[[], T]) -> T:
        """Call it on the probes' own thread; TimeoutError after PATIENCE, with the thread still at it."""
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(loop.run_in_executor(self._thread, database.unit, work), PATIENCE)


def refused(scope: Scope) -> Answer | None:
    """Why this client may not read the metrics: they tell which tools there are, and how busy people are."""
    headers: list[tuple[bytes, bytes]] = [(name.lower(), value) for name, value in scope["headers"]]
    if settings.METRICS_TOKEN:
        sent = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
        # Compared as bytes: what a client sends need not be ASCII.
        wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
        good = len(sent) == 1 and constant_time_compare(sent[0].encode("latin-1"), wanted)
        if good:
            return None
        return plain(401, _("Authentication is required. Send METRICS_TOKEN as `Authorization: Bearer ...`."))
    forwarded = any(name in FORWARDED for name, _ in headers)
    if forwarded or not is_here(scope.get("client")):
        return plain(403, _("Metrics are only available on this machine because METRICS_TOKEN is not set."))
    return None


def is_here(client: Any) -> bool:
    """Whether a client `(host, port)` is on this machine."""
    try:
        address = ipaddress.ip_address(client[0])
    except (TypeError, ValueError, IndexError):
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
