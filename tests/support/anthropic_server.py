"""Anthropic's Messages streaming API as a local server: for all tests of code that talks to Claude.

    with AnthropicServer() as claude:
        claude.will(says(text("One moment."), tool_use("toolu_1", "getWeather", city="Paris"), stop_reason="tool_use"))
        claude.will(refuses(529, "overloaded_error", retry_after="0"), says(text("It is clear.")))
        ...  # a client with base_url=claude.url (or ANTHROPIC_BASE_URL) and the key KEY
        assert claude.requests[0].body["model"] == "claude-sonnet-5-5"

It speaks HTTP on a free port of 127.0.0.1, one thread per connection, with nothing but the standard library. Each request
takes the next reply; leaving the block fails if replies are left over. What goes over the wire is up to the test:

- `says(*blocks, stop_reason=, usage=, size=, cuts=)` is a whole answer. Texts, thoughts and inputs come in deltas of `size`
  characters. `cuts` are positions at which the bytes are split into chunks, in the middle of a character too.
- `Reply(items)` is anything else: events (dicts, see `block_events`, `END`, `PING`, `error`), raw bytes, a `threading.Event`
  to wait for before going on, `Close.EARLY` (hangs up) or `Close.CLEAN` (ends the body politely, too early). Any iterable
  will do, an endless one too.
- `refuses(status, kind, message, **headers)` is an error before the stream.

`requests` holds the requests: headers, body, `at` (seconds of `time.monotonic`), `begun` (set with the first bytes of the
answer), `gone` (set when the client hung up first) and `usage`, the input as the prompt cache accounts for it. Requests that
the real API would refuse get its 400 (see `objections` in `tests/support/anthropic_rules.py`), and the next reply stays.
"""

from __future__ import annotations

import enum
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from types import TracebackType
from typing import Any

from tests.support.claude.account import Account
from tests.support.claude.events import block_events
from tests.support.claude.thoughts import unmarked

KEY = "sk-ant-only-for-tests"
PATIENCE = 60.0

Block = dict[str, Any]
SseEvent = dict[str, Any]


class Close(enum.Enum):
    EARLY = "hang up without the end that HTTP asks for"
    CLEAN = "end the body as HTTP asks for, whatever is missing in it"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """`blocks` are the content of a whole answer; a thought among them is remembered as signed by the requested model."""

    items: Iterable[SseEvent | bytes | threading.Event | Close]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    blocks: Sequence[Block] = ()
    container: str = ""


@dataclass(frozen=True)
class Request:
    """One request as it arrived; header names are in lower case."""

    headers: dict[str, str]
    body: dict[str, Any]
    path: str = ""
    at: float = field(default_factory=time.monotonic)
    begun: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def messages(self) -> list[tuple[str, list[Block]]]:
        """The messages as (role, content), without marks for the cache."""
        return [(one["role"], [unmarked(block) for block in one["content"]]) for one in self.body["messages"]]


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str) -> Block:
    return {"type": "thinking", "thinking": words, "signature": signature}


def redacted(data: str) -> Block:
    return {"type": "redacted_thinking", "data": data}


def tool_use(call_id: str, name: str, **value: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": value}


PING: SseEvent = {"type": "ping"}
START: SseEvent = {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant"}}


def end(stop_reason: str | None = "end_turn", **usage: int) -> list[SseEvent]:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def error(kind: str, message: str = "as scripted") -> SseEvent:
    return {"type": "error", "error": {"type": kind, "message": message}}


def answer(*blocks: Block, stop_reason: str | None = "end_turn", size: int = 7, **usage: int) -> list[SseEvent]:
    """All events of a whole answer."""
    usage = {"input_tokens": 10, "output_tokens": 5} | usage
    start = START | {"message": START["message"] | {"content": [], "usage": usage | {"output_tokens": 1}}}
    middle = [event for index, block in enumerate(blocks) for event in block_events(index, block, size)]
    return [start, PING, *middle, *end(stop_reason, output_tokens=usage["output_tokens"])]


def says(
    *blocks: Block,
    stop_reason: str | None = "end_turn",
    size: int = 7,
    cuts: Sequence[int] = (),
    container: str = "",
    iterations: Sequence[dict[str, Any]] = (),
    **usage: int,
) -> Reply:
    """Return a whole answer. `container` is the one that ran its code; `iterations` go into its usage."""
    events = answer(*blocks, stop_reason=stop_reason, size=size, **usage)
    if container:
        events[-2]["delta"]["container"] = {"id": container, "expires_at": "2026-12-24T00:00:00Z"}
    if iterations:
        events[-2]["usage"]["iterations"] = list(iterations)
    if not cuts:
        return Reply(items=events, blocks=blocks, container=container)
    whole = b"".join(encode(event) for event in events)
    places = [0, *sorted({cut % len(whole) for cut in cuts} - {0}), len(whole)]
    return Reply(items=[whole[a:b] for a, b in pairwise(places)], blocks=blocks)


def refuses(status: int, kind: str, message: str = "as scripted", **headers: str) -> Reply:
    body = json.dumps(error(kind, message)).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(items=[body], status=status, headers=named)


def encode(event: SseEvent) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is nothing to print."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class AnthropicServer:
    """See the module."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        #: Why requests were refused that the API refuses.
        self.refused: list[str] = []
        self.closing = threading.Event()
        self.account = Account()
        #: The answer to `GET /v1/models/{id}`, by id; 404 for others.
        self.models: dict[str, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._http = _Server(("127.0.0.1", 0), _handler_of(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def will(self, *replies: Reply) -> None:
        """Script the next replies."""
        self.replies.extend(replies)

    def wait_for_request(self, count: int = 1) -> Request:
        """The request of that number, once the first bytes of its answer are sent."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE), "nobody asked"
        assert self.requests[count - 1].begun.wait(PATIENCE), "no answer was begun"
        return self.requests[count - 1]

    def __enter__(self) -> AnthropicServer:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        assert kind is not None or not self.replies, f"{len(self.replies)} scripted replies were never asked for"

    def take(self, request: Request) -> Reply:
        """Record a request; gives its reply."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            # SDKs send the key in one header or in the other.
            given = request.headers.get("x-api-key"), request.headers.get("authorization", "")[len("Bearer ") :]
            if KEY not in given:
                return refuses(401, "authentication_error", "invalid x-api-key")
            betas = request.headers.get("anthropic-beta", "").split(",")
            if missing := self.account.missing_file(request.body):
                self.refused.append(f"File not found: {missing}")
                return refuses(404, "not_found_error", self.refused[-1])
            objection = self.account.objection(request.body, betas)
            self.refused += [objection] if objection else []
            if objection or not self.replies:
                return refuses(400, "invalid_request_error", objection or "The test has scripted no more replies.")
            reply = self.replies.pop(0)
            request.usage.update(self.account.answer(request.body, reply.blocks, betas, reply.container))
            return reply


def _handler_of(owner: AnthropicServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            info = owner.models.get(self.path.rpartition("/")[2])
            body = json.dumps(info or error("not_found_error")).encode()
            self.send_response(200 if info else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            request = Request({name.lower(): value for name, value in self.headers.items()}, body, self.path)
            reply = owner.take(request)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-type", "text/event-stream" if reply.status == 200 else "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for chunk in self._chunks(reply, body["model"]):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                    request.begun.set()
                if not self.close_connection:
                    self.wfile.write(b"0\r\n\r\n")
            except ConnectionError:
                self.close_connection = True
                request.gone.set()

        def _chunks(self, reply: Reply, model: str) -> Iterator[bytes]:
            for item in reply.items:
                match item:
                    case Close():
                        self.close_connection = item is Close.EARLY
                        return
                    case threading.Event():
                        self._wait(item)
                    case bytes():
                        yield item
                    case {"type": "message_start"}:
                        # The real API answers to a name with the dated model behind it.
                        yield encode(item | {"message": {"model": f"{model}-20260901", **item["message"]}})
                    case _:
                        yield encode(item)

        def _wait(self, gate: threading.Event) -> None:
            while not gate.wait(0.01):
                readable = select.select([self.connection], [], [], 0)[0]
                if owner.closing.is_set() or (readable and not self.connection.recv(1, socket.MSG_PEEK)):
                    raise ConnectionError

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    return Handler
