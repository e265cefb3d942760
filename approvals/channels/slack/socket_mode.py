"""Hold the connection over which Slack brings clicks to a desk that it cannot reach (Socket Mode).

One process holds it, by a lease. A click is acknowledged after it is stored; Slack never brings a lost one again.
"""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models.functions import Now

from approvals.actions.channels import sockets
from approvals.actions.channels.connections import secrets_of
from approvals.background.heartbeat import new_process_name
from approvals.channels.slack import web_api
from approvals.channels.slack.receive import receive, receive_event
from approvals.channels.slack.web_api import SlackError
from approvals.db import pool
from approvals.db.canonical_json import NotCanonical, parse
from approvals.http_post import Undelivered
from approvals.json_types import JsonDict
from approvals.models import ChannelConnection
from approvals.models.channels import SocketState

if TYPE_CHECKING:
    from approvals.channels.slack.web_socket import WebSocket

logger = logging.getLogger(__name__)

RENEW_SECONDS = 5.0
POLL_SECONDS = 1.0
#: How long the connection that Slack is about to end is read beside the new one.
OVERLAP_SECONDS = 10.0
LONGEST_WAIT = 60.0
#: The connection ends soon, and a new one is welcome; other reasons to disconnect are problems.
REFRESHES = frozenset({"warning", "refresh_requested"})

#: Slack waits three seconds for each click, and opening a dialog can take two.
_workers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="pausepoint-slack")
_holders: dict[int, SocketHolder] = {}
_lock = threading.Lock()


def hold_connections() -> None:
    """Hold the connections that no process holds, each on a thread of its own."""
    for connection in sockets.unheld(Now()):
        with _lock:
            if connection.pk in _holders:
                continue
            holder = SocketHolder(connection.pk)
            if not sockets.hold(connection.pk, holder.name):
                continue
            _holders[connection.pk] = holder
        holder.thread.start()


def stop_all(seconds: float) -> None:
    """Close the connections of this process and give their leases back, within this time."""
    with _lock:
        holders = list(_holders.values())
    for holder in holders:
        holder.stopped.set()
    end = time.monotonic() + seconds
    for holder in holders:
        holder.thread.join(max(end - time.monotonic(), 0))


class SocketHolder:
    """Holds the lease of one connection and its WebSocket until it is stopped or loses the lease."""

    def __init__(self, connection_id: int) -> None:
        self.connection_id = connection_id
        self.name = new_process_name()[-64:]
        self.stopped = threading.Event()
        # A daemon thread, so that exit does not wait for the network.
        self.thread = threading.Thread(
            target=self.run, name="pausepoint-slack-socket", daemon=True
        )
        self._renewed_at = time.monotonic()
        self._failures = 0

    def run(self) -> None:
        """Connect again and again, after growing pauses."""
        try:
            while self._keeps():
                pause = self._try()
                until = time.monotonic() + pause
                while time.monotonic() < until and self._keeps():
                    self.stopped.wait(min(POLL_SECONDS, pause))
        except Exception:
            logger.exception("The connection to Slack is given to another process")
        finally:
            with _lock:
                _holders.pop(self.connection_id, None)
            self._write(sockets.release)

    def _try(self) -> float:
        """Hold the connection while it lasts; return how long to wait before the next one."""
        state = SocketState.LOST
        try:
            self._serve()
            return 0
        except SlackError as error:
            code = error.code
            wait = float(error.retry_after)
            if not error.passes:
                state = SocketState.REFUSED
                wait = LONGEST_WAIT
        except Undelivered as error:
            code = "unreachable"
            wait = 0.0
            logger.info("The connection to Slack was lost: %s", error)
        self._write(sockets.note_socket, state, code)
        wait = max(wait, min(2.0**self._failures - 1, LONGEST_WAIT))
        self._failures = min(self._failures + 1, 10)
        return wait

    def _serve(self) -> None:
        """Take envelopes until the lease or the connection is lost. Before Slack ends a connection, open the next one."""
        with ExitStack() as closing:
            current = closing.enter_context(self._connected())
            older: tuple[WebSocket, float] | None = None
            while self._keeps():
                if older is not None and not self._drained(*older):
                    older = None
                if self._read(current, POLL_SECONDS if older is None else 0.05):
                    older = (current, time.monotonic() + OVERLAP_SECONDS)
                    current = closing.enter_context(self._connected())

    def _drained(self, older: WebSocket, until: float) -> bool:
        """Read a connection that ends soon; return whether it may still bring something."""
        try:
            self._read(older, 0.05)
        except (Undelivered, OSError):
            return False
        return time.monotonic() < until

    @contextmanager
    def _connected(self) -> Iterator[WebSocket]:
        from approvals.channels.slack import (  # noqa: PLC0415 - loaded late
            web_socket,
        )

        token = pool.call_and_close(self._app_token)
        url = web_api.call(token, "apps.connections.open").get("url")
        if not isinstance(url, str) or not url.startswith(("wss://", "ws://")):
            raise SlackError("not_json")
        private = settings.HITL_WEBHOOK_ALLOW_PRIVATE
        with web_socket.open_socket(url, allow_private=private) as opened:
            yield opened

    def _app_token(self) -> str:
        connection = ChannelConnection.objects.get(pk=self.connection_id)
        secrets = secrets_of(connection)
        if secrets is None:
            raise SlackError("secret_key_changed")
        return secrets.app_token

    def _read(self, opened: WebSocket, seconds: float) -> bool:
        """Take the next message; return whether Slack wants a new connection. Raise SlackError and Undelivered."""
        text = opened.receive(seconds)
        message = {} if text is None else _parsed(text)
        kind = message.get("type")
        if kind == "hello":
            self._failures = 0
            self._write(sockets.note_socket, SocketState.CONNECTED)
        elif kind == "disconnect":
            reason = str(message.get("reason"))
            if reason not in REFRESHES:
                raise SlackError(reason)
            return True
        elif isinstance(message.get("envelope_id"), str):
            _workers.submit(self._answer, opened, message)
        return False

    def _answer(self, opened: WebSocket, envelope: JsonDict) -> None:
        """Store a click, then acknowledge it. One that cannot be stored is not: its author is warned by Slack."""
        try:
            body = pool.call_and_close(self._received, envelope)
        except pool.AWAY as error:
            pool.record_failure(error)
            return
        except Exception:
            logger.exception("A click from Slack could not be stored")
            return
        answer: JsonDict = {"envelope_id": envelope["envelope_id"]}
        if body is not None:
            answer["payload"] = body
        try:
            opened.send(json.dumps(answer))
        except Undelivered:
            # Slack warns the author, and a repeated click counts once.
            return

    def _received(self, envelope: JsonDict) -> JsonDict | None:
        connection = ChannelConnection.objects.get(pk=self.connection_id)
        match envelope.get("type"):
            case "interactive":
                return receive(connection, envelope.get("payload")).body
            case "events_api":
                receive_event(connection, envelope.get("payload"))
        return None

    def _keeps(self) -> bool:
        """Renew the lease when it is time, and return whether this process still has it."""
        if self.stopped.is_set():
            return False
        now = time.monotonic()
        if now - self._renewed_at < RENEW_SECONDS:
            return True
        try:
            kept = pool.call_and_close(sockets.hold, self.connection_id, self.name)
        except pool.AWAY as error:
            pool.record_failure(error)
            return now - self._renewed_at < sockets.LEASE.total_seconds()
        self._renewed_at = now
        if not kept:
            self.stopped.set()
        return kept

    def _write(self, write: Any, *values: Any) -> None:
        """Write about the connection; a state that is lost is written with the next one."""
        change = functools.partial(write, self.connection_id, self.name, *values)
        try:
            pool.call_and_close(change)
        except pool.AWAY as error:
            pool.record_failure(error)


def _parsed(text: str) -> JsonDict:
    """Return a message of Slack; anything else is an empty one."""
    try:
        message = parse(text)
    except NotCanonical:
        return {}
    return message if isinstance(message, dict) else {}
