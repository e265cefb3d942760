"""Pausepoint, as a relay sees it: it posts signed events, and takes the signed posts of the relay."""

from __future__ import annotations

import base64
import hmac
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import httpx

#: The secret, if PAUSEPOINT_RELAY_SECRET has none: for tests only.
SECRET = "whsec_" + base64.b64encode(b"the test kit of relays, no secret").decode()
ACCOUNT = "kit-person"
#: Plays the person: presses the button with this label as this account, and types this text if the chat asks for one.
Press = Callable[[str, str, str], None]


class Wrong(Exception):
    """The relay breaks the contract; the message says how, and what to do."""


@dataclass(frozen=True)
class Posted:
    """What a relay has posted: its path, its JSON, and why its signature is wrong."""

    what: str
    body: Any
    problem: str


def signature(secret: str, message_id: str, stamp: str, body: bytes) -> str:
    """Return a signature of Standard Webhooks."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{stamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def problem_of(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    """Return why a post of the relay is not signed as it should be; empty if it is."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    message_id, stamp, sent = (headers.get(name) or "" for name in names)
    if not (message_id and stamp and sent):
        return (
            "it lacks the headers webhook-id, webhook-timestamp and webhook-signature"
        )
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > 300:
        return "its webhook-timestamp is not the present time in seconds"
    expected = signature(secret, message_id, stamp, body)
    if not any(
        hmac.compare_digest(expected.encode(), each.encode()) for each in sent.split()
    ):
        return "its signature is wrong: sign webhook-id.webhook-timestamp.body with the secret"
    return ""


@dataclass
class Kit:
    """Pausepoint, as a relay sees it."""

    relay: str
    press: Press
    secret: str = SECRET
    account: str = ACCOUNT
    patience: float = 60.0
    #: Seconds in which nothing may come.
    quiet: float = 1.5
    say: Callable[[str], None] = print
    posted: queue.Queue[Posted] = field(default_factory=queue.Queue)
    #: What the next post is answered with, instead of a success.
    refusal: dict[str, Any] | None = None

    def post(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        age: int = 0,
        sent: bytes = b"",
        secret: str = "",
    ) -> int:
        """Post an event and return the status. `sent` is sent in place of the signed body."""
        event = {"type": kind, "timestamp": moment_in(), "data": dict(data)}
        body = json.dumps(event, ensure_ascii=False).encode()
        stamp = str(int(time.time()) - age)
        message_id = f"msg_{uuid4()}"
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": stamp,
            "webhook-signature": signature(
                secret or self.secret, message_id, stamp, body
            ),
        }
        try:
            return httpx.post(
                self.relay, content=sent or body, headers=headers, timeout=10
            ).status_code
        except httpx.HTTPError as error:
            reason = f"The relay did not answer at {self.relay} within ten seconds: {error}. Is it running?"
            raise Wrong(reason) from error

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        """Post an event that the relay must take."""
        status = self.post(kind, data)
        if not 200 <= status < 300:
            raise Wrong(
                f"The relay answered {status} to {kind}. Answer 2xx as soon as it is shown."
            )

    def refuses(self, what: str, status: int) -> None:
        if not 400 <= status < 500:
            raise Wrong(
                f"The relay answered {status} to {what}. Check the signature first, and answer 401."
            )

    def message(
        self, title: str, *answers: dict[str, Any], revision: int = 1, of: str = ""
    ) -> dict[str, Any]:
        """Return the data of a waiting request, with a new token."""
        message = of or str(uuid4())
        return {
            "message": message,
            "revision": revision,
            "account": self.account,
            "language": "en",
            "title": title,
            "text": "amount: 250\nAsked by the test kit",
            "open": f"https://desk.example.org/requests/{message}/",
            "answers": list(answers),
            "token": f"token-{uuid4()}",
            "expires_at": moment_in(8 * 3600),
        }

    def answer(self, label: str, text: str = "") -> dict[str, Any]:
        """Press a button, and return the answer that comes of it."""
        self.press(self.account, label, text)
        return self.next_post(
            "answers",
            f"No answer came after {label!r} was pressed. Post it to PAUSEPOINT_RELAY/answers.",
        )

    def next_post(self, what: str, missing: str) -> dict[str, Any]:
        try:
            posted = self.posted.get(timeout=self.patience)
        except queue.Empty:
            raise Wrong(missing) from None
        if posted.what != what:
            raise Wrong(f"The relay posted to /{posted.what}, not to /{what}.")
        if posted.problem:
            raise Wrong(f"The post of the relay is refused: {posted.problem}.")
        if not isinstance(posted.body, dict):
            raise Wrong("The body of the post is not a JSON object.")
        return posted.body

    def nothing_comes(self, words: str) -> None:
        try:
            self.posted.get(timeout=self.quiet)
        except queue.Empty:
            return
        raise Wrong(words)

    def reply(self, what: str) -> tuple[int, dict[str, Any]]:
        """Return the response to a post."""
        if self.refusal is not None:
            refusal = self.refusal
            self.refusal = None
            return int(refusal["status"]), refusal
        if what == "links":
            return 201, {
                "url": "https://desk.example.org/settings/relay-link/abc/",
                "expires_at": moment_in(600),
            }
        return 200, {"outcome": "decided", "detail": "Approved by you."}


def moment_in(later: int = 0) -> str:
    moment = datetime.fromtimestamp(time.time() + later, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


@contextmanager
def serving(kit: Kit, port: int) -> Iterator[str]:
    """Serve the addresses to which the relay posts, and yield the value of PAUSEPOINT_RELAY."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            what = self.path.rpartition("/")[2]
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                parsed = json.loads(body)
            except ValueError:
                parsed = None
            kit.posted.put(Posted(what, parsed, problem_of(kit.secret, headers, body)))
            status, answer = kit.reply(what)
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v1/relays/kit"
    finally:
        server.shutdown()
        server.server_close()
