"""Play Pausepoint against a relay on this machine, and say in words what the relay does wrong: `pausepoint relay-kit`.

The contract is docs/reference/relay.md. The kit checks what a relay takes and posts. It cannot see the chat, so it also says what
should be seen there.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import os
import queue
import shlex
import subprocess
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
#: Seconds in which nothing may come.
QUIET = 1.5
#: Plays the person: presses the button with this label as this account, and types this text if the chat asks for one.
Press = Callable[[str, str, str], None]
OFFERED = ("approve", "reject", "respond")
REFUSAL = "This request was rejected a minute ago by ann."


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
        hmac.compare_digest(expected.encode(), one.encode()) for one in sent.split()
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
    say: Callable[[str], None] = print
    posted: queue.Queue[Posted] = field(default_factory=queue.Queue)
    #: What the next post is answered with, instead of a success.
    refusal: dict[str, Any] | None = None

    def run(self) -> int:
        """Run all checks, and return how many have failed."""
        failed = 0
        for check in CHECKS:
            name = (check.__doc__ or "").strip()
            try:
                check(self)
            except Wrong as wrong:
                failed += 1
                self.say(f"FAILED  {name}\n        {wrong}")
            else:
                self.say(f"ok      {name}")
        self.say(f"{len(CHECKS) - failed} of {len(CHECKS)} checks passed.")
        return failed

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
        event = {"type": kind, "timestamp": _now(), "data": dict(data)}
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
            "expires_at": _now(8 * 3600),
        }

    def answer(self, label: str, text: str = "") -> dict[str, Any]:
        """Press a button, and return the answer that comes of it."""
        self.press(self.account, label, text)
        return self._next(
            "answers",
            f"No answer came after {label!r} was pressed. Post it to PAUSEPOINT_RELAY/answers.",
        )

    def _next(self, what: str, missing: str) -> dict[str, Any]:
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
            self.posted.get(timeout=QUIET)
        except queue.Empty:
            return
        raise Wrong(words)

    def reply(self, what: str) -> tuple[int, dict[str, Any]]:
        """Return what a post is answered with."""
        if self.refusal is not None:
            refusal = self.refusal
            self.refusal = None
            return int(refusal["status"]), refusal
        if what == "links":
            return 201, {
                "url": "https://desk.example.org/settings/relay-link/abc/",
                "expires_at": _now(600),
            }
        return 200, {"outcome": "decided", "detail": "Approved by you."}


def check_answer(
    answer: dict[str, Any],
    shown: Mapping[str, Any],
    offered: Mapping[str, Any],
    text: str = "",
) -> None:
    """Raise Wrong unless this is the answer that was pressed, to the newest version of the message."""
    expected = {
        "token": shown["token"],
        "account": shown["account"],
        "verdict": offered["verdict"],
    }
    expected |= {"option": offered["option"]} if "option" in offered else {}
    expected |= {"message": text} if text else {}
    for name, value in expected.items():
        if answer.get(name) != value:
            raise Wrong(
                f"The answer has {name} {answer.get(name)!r}, where {value!r} was expected."
            )
    unknown = sorted(answer.keys() - {*expected, "message"})
    if unknown:
        raise Wrong(
            f"The answer has members that are not in the contract: {', '.join(unknown)}."
        )


APPROVE = {"verdict": "approve", "label": "Approve", "message": "optional"}
REJECT = {"verdict": "reject", "label": "Reject", "message": "required"}
RED = {"verdict": "respond", "option": 0, "label": "Red", "message": "none"}
BLUE = {"verdict": "respond", "option": 1, "label": "Blue", "message": "none"}


def takes_a_notice(kit: Kit) -> None:
    """takes a notice"""
    data = {
        "account": kit.account,
        "language": "en",
        "text": "This is a test.",
        "open": "https://desk.example.org/",
    }
    kit.show("notice", data)


def refuses_wrong_signatures(kit: Kit) -> None:
    """refuses wrong signatures, altered bodies and old messages"""
    data = kit.message("Forged", APPROVE)
    other = "whsec_" + base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    kit.refuses(
        "a message that another secret has signed",
        kit.post("request.show", data, secret=other),
    )
    forged = json.dumps(
        {"type": "request.show", "timestamp": _now(), "data": data}
    ).encode()
    kit.refuses("a body that was altered", kit.post("request.end", data, sent=forged))
    kit.refuses(
        "a message that is ten minutes old", kit.post("request.show", data, age=600)
    )


def sends_an_answer(kit: Kit) -> None:
    """shows a request as plain text, and posts the answer"""
    shown = kit.message("*Refund* [4711](https://example.org)?", APPROVE, REJECT)
    kit.show("request.show", shown)
    check_answer(kit.answer("Approve"), shown, APPROVE)
    kit.nothing_comes("The answer came twice. Post it once.")
    _end(kit, shown)


def ends_a_message(kit: Kit) -> None:
    """removes the buttons when a request has ended"""
    shown = kit.message("Ended elsewhere", APPROVE)
    kit.show("request.show", shown)
    _end(kit, shown)
    _press_in_vain(
        kit,
        "Approve",
        "The relay posted an answer after request.end. Remove the buttons of the message.",
    )


def keeps_the_newest_version(kit: Kit) -> None:
    """answers the newest version of a message, also after an older one comes late"""
    first = kit.message("In two versions", REJECT)
    second = kit.message(
        "In two versions, changed", REJECT, revision=2, of=first["message"]
    )
    for version in (first, second, first):
        kit.show("request.show", version)
    check_answer(kit.answer("Reject", "Too much."), second, REJECT, "Too much.")
    _end(kit, second)


def takes_a_repeat(kit: Kit) -> None:
    """takes the same message twice"""
    shown = kit.message("Twice", APPROVE)
    kit.show("request.show", shown)
    kit.show("request.show", shown)
    check_answer(kit.answer("Approve"), shown, APPROVE)
    _end(kit, shown)


def offers_options(kit: Kit) -> None:
    """offers the options of a question"""
    shown = kit.message("Which color?", RED, BLUE)
    kit.show("request.show", shown)
    check_answer(kit.answer("Blue"), shown, BLUE)
    _end(kit, shown)


def tells_refusals(kit: Kit) -> None:
    """posts a refused answer only once, and shows the words of the refusal"""
    shown = kit.message("Too late", APPROVE)
    kit.show("request.show", shown)
    kit.refusal = {
        "title": "Conflict",
        "status": 409,
        "detail": REFUSAL,
        "code": "already_decided",
    }
    check_answer(kit.answer("Approve"), shown, APPROVE)
    kit.nothing_comes(
        "The relay posted a refused answer again. Show the detail, and leave it at that."
    )
    kit.say(f"        Look at the chat: it should say {REFUSAL!r}")
    _end(kit, shown)


def shows_messages_without_answers(kit: Kit) -> None:
    """shows a message that has no answers and no token"""
    shown = kit.message("Only to open") | {"token": None, "expires_at": None}
    kit.show("request.show", shown)
    _end(kit, shown)


def ignores_unknown_types(kit: Kit) -> None:
    """takes types of events that it does not know"""
    kit.show("something.new", {"account": kit.account})


def asks_for_links(kit: Kit) -> None:
    """asks for a link for an account"""
    kit.press(kit.account, "link", "")
    body = kit._next(
        "links",
        "The relay did not ask for a link. Post {account, name?} to PAUSEPOINT_RELAY/links.",
    )
    if body.get("account") != kit.account or not isinstance(body.get("name", ""), str):
        raise Wrong(
            f"The link is for account {body.get('account')!r}, where {kit.account!r} was expected."
        )


CHECKS = (
    takes_a_notice,
    refuses_wrong_signatures,
    sends_an_answer,
    ends_a_message,
    keeps_the_newest_version,
    takes_a_repeat,
    offers_options,
    tells_refusals,
    shows_messages_without_answers,
    ignores_unknown_types,
    asks_for_links,
)


def _end(kit: Kit, shown: Mapping[str, Any]) -> None:
    names = ("message", "account", "language", "title", "open")
    data = {name: shown[name] for name in names}
    kit.show(
        "request.end",
        data | {"revision": shown["revision"] + 1, "text": "Approved by ann, via web"},
    )


def _press_in_vain(kit: Kit, label: str, words: str) -> None:
    kit.press(kit.account, label, "")
    kit.nothing_comes(words)


def _now(later: int = 0) -> str:
    moment = datetime.fromtimestamp(time.time() + later, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


@contextmanager
def serving(kit: Kit, port: int) -> Iterator[str]:
    """Serve the addresses to which the relay posts, and yield what PAUSEPOINT_RELAY has to be."""

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


def run(args: argparse.Namespace) -> int:
    secret = os.environ.get("PAUSEPOINT_RELAY_SECRET") or SECRET
    kit = Kit(args.relay, _pressing(args.press), secret, args.account, args.wait)
    try:
        with serving(kit, args.port) as address:
            print(
                f"Run the relay with PAUSEPOINT_RELAY={address} and PAUSEPOINT_RELAY_SECRET={secret}"
            )
            return 1 if kit.run() else 0
    except OSError as error:
        raise ValueError(
            f"Port {args.port} cannot be used: {error}. Choose another --port."
        ) from error


def _pressing(command: str) -> Press:
    """Return what plays the person: a command, or the person who reads this."""

    def by_command(account: str, label: str, text: str) -> None:
        subprocess.run([*shlex.split(command), account, label, text], check=False)

    def by_hand(account: str, label: str, text: str) -> None:
        typed = f" and type {text!r}" if text else ""
        print(
            f"        In the chat of {account}: press {label!r}{typed}, if you can.",
            flush=True,
        )

    return by_command if command else by_hand


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "relay", help="where the relay takes messages, such as http://127.0.0.1:9100/"
    )
    command.add_argument(
        "--port",
        type=int,
        default=9101,
        help="where the relay posts to (default: 9101)",
    )
    command.add_argument(
        "--account",
        default=ACCOUNT,
        help="the account of the person in the chat, as the relay names it",
    )
    command.add_argument(
        "--press",
        default="",
        metavar="COMMAND",
        help="plays the person: it is run with an account, the label of a button and a text; without it, you do",
    )
    command.add_argument(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait for an answer",
    )
    command.set_defaults(run=run)
