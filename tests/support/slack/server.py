"""The stand-in of Slack: see `tests/support/slack/__init__.py` for how to use it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.slack import delivery, pages
from tests.support.slack.delivery import Answer, Post
from tests.support.slack.faults import Cut, Fault
from tests.support.slack.manifest import bot_scopes, manifest_errors
from tests.support.slack.methods import METHODS, Method, Refused, authorized, content
from tests.support.slack.people import Person
from tests.support.slack.socket_mode import RESET, Link, SocketMode
from tests.support.slack.triggers import ResponseAddress, ResponseAddresses, Triggers
from tests.support.slack.workspace import Channel, Json, Message, Workspace

LONGEST_BODY = 1 << 20


@dataclass(frozen=True)
class Call:
    """One call of the Web API: what was asked, and the answer that it got or would have got."""

    method: str
    arguments: Json
    answer: Json
    at: float = field(default_factory=time.monotonic)


@dataclass
class Slack:
    """A workspace with an app, as a server on loopback. Leaving the block fails while objections are left."""

    request_url: str = ""
    events_url: str = ""
    port: int = 0
    post: Post = delivery.by_http
    answer_seconds: float = delivery.ANSWER_SECONDS
    workspace: Workspace = field(default_factory=Workspace)
    calls: list[Call] = field(default_factory=list)
    objections: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.triggers = Triggers(lambda: self.workspace.clock())
        self.responses = ResponseAddresses(lambda: self.workspace.clock())
        self.socket = SocketMode(self.workspace.app_id, self.workspace.changed, self.object)
        self.people: dict[str, Person] = {}
        self.faults: defaultdict[str, list[Fault]] = defaultdict(list)
        self.limited_until: dict[str, float] = {}

    def __enter__(self) -> Slack:
        handler = type("BoundHandler", (Handler,), {"slack": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port = int(self.server.server_address[1])
        self.socket.address = f"ws://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        if kind is None:
            assert self.objections == []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        """The base address of the Web API."""
        return f"{self.url}/api/"

    # What a test sets up.

    def person(self, name: str, **details: str) -> Person:
        """Return the person of this name, who joins the workspace at the first call."""
        if name not in self.people:
            self.people[name] = Person(self, self.workspace.add_member(name, **details))
        return self.people[name]

    def channel(self, name: str, *people: Person, kind: str = "public", with_bot: bool = True) -> Channel:
        return self.workspace.add_channel(name, *[each.id for each in people], kind=kind, with_bot=with_bot)

    def create_app(self, manifest: Json) -> None:
        """Set the app up from a manifest, or fail with what Slack would say about it."""
        errors = manifest_errors(manifest)
        assert errors == [], errors
        settings = manifest.get("settings", {})
        self.workspace.scopes = tuple(sorted(bot_scopes(manifest)))
        self.socket.enabled = settings.get("socket_mode_enabled", False)
        self.request_url = settings.get("interactivity", {}).get("request_url", "")
        self.events_url = settings.get("event_subscriptions", {}).get("request_url", "")

    def be_patient(self) -> None:
        """Wait longer than Slack does: other tests may keep the machine busy."""
        self.answer_seconds = 30.0
        self.triggers.seconds = 30.0
        self.socket.ack_seconds = 30.0

    def will(self, method: str, *faults: Fault) -> None:
        """Let the next calls of a method meet these faults, one each."""
        self.faults[method].extend(faults)

    def refuse(self, error: str) -> None:
        """Refuse every call from now on: `token_revoked`, `account_inactive` (the app was removed); "" ends that."""
        self.workspace.refusal = error

    def send_event(self, event: Json, *, repeats: int = 0) -> list[Answer]:
        return delivery.send_event(self, event, repeats=repeats)

    # What a test looks at.

    def object(self, objection: str) -> None:
        with self.workspace.changed:
            self.objections.append(objection)
            self.workspace.changed.notify_all()

    def take_objections(self) -> list[str]:
        """Return the objections so far, which are then no failure."""
        taken = list(self.objections)
        self.objections.clear()
        return taken

    def called(self, method: str) -> list[Json]:
        """Return the arguments of all calls of a method."""
        return [call.arguments for call in list(self.calls) if call.method == method]

    def until(self, condition: Callable[[], Any], seconds: float = 10.0) -> Any:
        """Wait until a condition holds in the workspace, and return its value."""
        with self.workspace.changed:
            assert self.workspace.changed.wait_for(condition, timeout=seconds), "Slack has waited in vain"
            return condition()

    def message_with(self, channel: Channel, words: str) -> Message | None:
        """Return the newest message of a channel that shows these words."""
        messages = [each for each in channel.messages if words in each.words and not each.deleted]
        return messages[-1] if messages else None

    # What the server does.

    def new_response_url(self, user: str, message: Message) -> str:
        return self.url + self.responses.give(user, message.channel, message.ts)

    def next_fault(self, method: str) -> Fault:
        waiting = self.faults[method]
        return waiting.pop(0) if waiting else Fault()

    def answer(self, name: str, arguments: Json, token: str, fault: Fault) -> Json:
        method = METHODS.get(name)
        with self.workspace.changed:
            try:
                if method is None:
                    raise Refused("unknown_method", req_method=name)
                authorized(self, method, token)
                if fault.error or fault.cut is Cut.BEFORE or fault.body:
                    raise Refused(fault.error or "internal_error", **fault.members)
                answer = method.run(self, arguments)
            except Refused as refused:
                answer = refused.as_json()
        self.calls.append(Call(name, arguments, answer))
        return answer

    def answer_response(self, path: str, body: Any) -> Json:
        """Take what an app posts to a `response_url`."""
        with self.workspace.changed:
            try:
                address = self.responses.use(path)
                if not isinstance(body, dict):
                    raise Refused("invalid_payload")
                self.respond(address, body)
            except Refused as refused:
                self.object(f"response_url: {refused.code}")
                return refused.as_json()
        self.calls.append(Call("response_url", body, {"ok": True}))
        return {"ok": True}

    def respond(self, address: ResponseAddress, body: Json) -> None:
        channel = self.workspace.channels[address.channel]
        original = self.workspace.message(address.channel, address.ts)
        if body.get("delete_original"):
            if original is not None:
                original.deleted = True
            return
        text, blocks = content(self, body)
        if body.get("replace_original") and original is not None:
            original.replace(text, blocks)
            self.workspace.changed.notify_all()
            return
        seen_by = "" if body.get("response_type") == "in_channel" else address.user
        thread = str(body.get("thread_ts") or "")
        stamp = self.workspace.next_ts()
        self.workspace.post(
            Message(channel.id, stamp, self.workspace.bot_user, text, blocks, thread, seen_by=seen_by),
        )

    def check_patience(self, name: str) -> int:
        """Return for how many seconds calls of a method are refused, and object to one within them."""
        left = self.limited_until.get(name, 0.0) - time.monotonic()
        if left > 0:
            self.object(f"{name} was called {left:.1f} s before the end of `Retry-After`")
        return max(0, int(left + 0.999))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    slack: Slack

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/link/":
            self.connect(dict(parse_qsl(parts.query)))
        elif parts.path.startswith("/api/"):
            self.call(parts.path.removeprefix("/api/"), dict(parse_qsl(parts.query)), [])
        else:
            self.write_page(*pages.get(self.slack, parts.path, dict(parse_qsl(parts.query))))

    def do_POST(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(min(int(self.headers["Content-Length"] or 0), LONGEST_BODY))
        if parts.path.startswith("/api/"):
            arguments, problems = self.arguments(parts.path.removeprefix("/api/"), body)
            self.call(parts.path.removeprefix("/api/"), dict(parse_qsl(parts.query)) | arguments, problems)
        elif parts.path.startswith("/actions/"):
            answer = self.slack.answer_response(parts.path, self.json_of(body))
            self.write_json(200 if answer["ok"] else 404, answer)
        else:
            self.write_page(*pages.post(self.slack, parts.path, parse_qsl(body.decode(), keep_blank_values=True)))

    def json_of(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except ValueError:
            return None

    def arguments(self, name: str, body: bytes) -> tuple[Json, list[str]]:
        """Return the arguments of a call, and the codes of what is wrong with its body."""
        kind, _, parameters = self.headers.get("Content-Type", "").partition(";")
        if kind == "application/x-www-form-urlencoded":
            return dict(parse_qsl(body.decode(), keep_blank_values=True)), []
        if kind != "application/json":
            return {}, ["missing_post_type"] if body and not kind else ["invalid_post_type"] if body else []
        value = self.json_of(body)
        if not isinstance(value, dict):
            return {}, ["invalid_json" if value is None else "json_not_object"]
        method: Method | None = METHODS.get(name)
        if method is not None and not method.reads_json and value:
            self.slack.object(f"{name} does not read JSON: its arguments are ignored")
            return {}, []
        return value, [] if "charset" in parameters else ["missing_charset"]

    def call(self, name: str, arguments: Json, problems: list[str]) -> None:
        slack = self.slack
        token = self.headers.get("Authorization", "").removeprefix("Bearer ") or str(arguments.pop("token", ""))
        left = slack.check_patience(name)
        if left:
            self.write_json(429, {"ok": False, "error": "ratelimited"}, left)
            return
        fault = slack.next_fault(name)
        if fault.retry_after:
            slack.limited_until[name] = time.monotonic() + fault.retry_after
        if problems and problems != ["missing_charset"]:
            slack.object(f"{name}: {problems[0]}")
            self.write_json(200, {"ok": False, "error": problems[0]})
            return
        answer = slack.answer(name, arguments, token, fault)
        if fault.held is not None:
            fault.held.wait(60)
        if fault.cut is not None:
            self.cut()
            return
        if fault.body:
            self.write_body(fault.status, fault.body, "text/html")
            return
        if problems and answer["ok"]:
            answer = answer | {"warning": problems[0], "response_metadata": {"warnings": problems}}
        self.write_json(fault.status, answer, fault.retry_after)

    def cut(self) -> None:
        """End the connection without an answer."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.connection.close()

    def connect(self, query: dict[str, str]) -> None:
        """Take a WebSocket; the thread serves it until it ends."""
        self.close_connection = True
        if not self.slack.socket.admits(query.get("ticket", "")):
            self.write_json(408, {"ok": False, "error": "link_disabled"})
            return
        lines = [self.raw_requestline.decode().strip(), *[f"{name}: {value}" for name, value in self.headers.items()]]
        Link(self.connection, self.slack.socket, len(self.slack.calls)).serve("\r\n".join([*lines, "", ""]).encode())

    def write_json(self, status: int, answer: Json, retry_after: int = 0) -> None:
        self.write_body(status, json.dumps(answer).encode(), "application/json; charset=utf-8", retry_after)

    def write_page(self, status: int, kind: str, body: str) -> None:
        if status == 303:
            self.send_response(303)
            self.send_header("Location", body)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.write_body(status, body.encode(), kind)

    def write_body(self, status: int, body: bytes, kind: str, retry_after: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry_after:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(body)
