"""`pausepoint hook` and a server that drops calls, restarts and is overloaded: how long it retries, and for which calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest
from pausepoint import cli
from pausepoint.hook import command as hook

from tests.approvals.hooks.calls import BASH

ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


class Clock:
    """Goes on only where the hook pauses and where the server lets it wait."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class Reply(NamedTuple):
    """The server's treatment of one call: hold it for some seconds, then answer it, or drop it (status 0)."""

    held: float = 0
    status: int = 200
    header: tuple[str, str] | None = None


DROPPED, ALLOWED = Reply(status=0), Reply()
PENDING = Reply(50, header=(hook.STATUS, "pending"))


def busy(seconds: str, status: int = 429) -> Reply:
    return Reply(status=status, header=("Retry-After", seconds) if seconds else None)


class Stand:
    """A server on loopback. It gives the replies in order, and the last one again and again."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.replies = clock, [ALLOWED]
        #: When each call came, and its query.
        self.calls: list[tuple[float, dict[str, str]]] = []
        #: The identity of the calls.
        self.names: list[str] = []
        stand = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                stand.names.append(self.headers["idempotency-key"])
                stand.calls.append((clock.now, dict(parse_qsl(urlsplit(self.path).query))))
                reply = stand.replies.pop(0) if len(stand.replies) > 1 else stand.replies[0]
                clock.now += reply.held
                if not reply.status:
                    return
                self.send_response(reply.status)
                self.send_header(hook.MARK, "1")
                if reply.header:
                    self.send_header(*reply.header)
                self.end_headers()
                self.wfile.write(json.dumps(ALLOW).encode())

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def ask(self, *options: str, replies: list[Reply], event: str = "PreToolUse") -> dict[str, Any]:
        """Return the hook's answer to a call."""
        self.replies = replies
        arguments = ["--url", self.url, "--key", "pp_key", "hook", "claude-code", *options]
        return hook.ask(cli.parser().parse_args(arguments), json.dumps(BASH).encode(), event)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    clock = Clock()
    monkeypatch.setattr(hook, "time", clock)
    found = Stand(clock)
    serving = threading.Thread(target=found.http.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    yield found
    found.http.shutdown()
    found.http.server_close()
    serving.join()


@pytest.mark.parametrize(
    "replies",
    [
        # Longer than the patience of 20 seconds.
        [Reply(45, 0), ALLOWED],
        [Reply(45, 502), DROPPED, ALLOWED],
        [Reply(45, 0), Reply(45, 0), Reply(45, 0), ALLOWED],
        [Reply(45, 0), *[DROPPED] * 5, PENDING, *[DROPPED] * 5, ALLOWED],
    ],
)
def test_a_restart_is_survived_however_long_the_hook_has_waited_before(stand, replies):
    calls = len(replies)
    assert (stand.ask(replies=replies), len(stand.calls)) == (ALLOW, calls)


@pytest.mark.parametrize("reply", [DROPPED, Reply(status=503)])
def test_patience_counts_from_the_first_failure(stand, reply):
    with pytest.raises(
        hook.Blocked, match=r"/api/v1/hooks/claude-code did not answer: .+ Check that the server runs\."
    ):
        stand.ask("--patience", "20s", replies=[Reply(30, 0), reply])
    assert stand.clock.pauses == [0.25, 0.5, 1, 2, 4, 8, 4.25]


def test_no_attempt_waits_longer_and_no_request_lives_longer_than_the_hook(stand):
    stand.ask("--give-up-after", "60s", replies=[Reply(45, 0), Reply(10, 0), Reply(1, 0), ALLOWED])
    assert [(at - 1000, asked["wait"], asked["expires"]) for at, asked in stand.calls] == [
        (0, "50", "50"),
        (45.25, "15", "11"),
        (55.75, "4", "3"),
        (57.75, "2", "1"),
    ]


def test_it_ends_before_a_request_could_outlive_it(stand):
    with pytest.raises(hook.Blocked):
        stand.ask("--give-up-after", "5s", replies=[DROPPED])
    assert [(at - 1000, asked["expires"]) for at, asked in stand.calls] == [
        (0, "4"),
        (0.25, "3"),
        (0.75, "3"),
        (1.75, "2"),
        (3.75, "1"),
        (4, "1"),
    ]


def test_it_asks_again_when_the_server_says(stand):
    replies = [busy("40"), busy("1"), busy("5", 503), ALLOWED]
    assert stand.ask("--patience", "20s", replies=replies) == ALLOW
    assert stand.clock.pauses == [40, 1, 5]
    # A server that is away may be back earlier than it says.
    away = [busy("3600", 503), ALLOWED]
    assert stand.ask("--patience", "20s", replies=away) == ALLOW
    assert stand.clock.pauses[3:] == [20]


@pytest.mark.parametrize(
    ("event", "options", "seconds", "said", "pauses"),
    [
        ("PreToolUse", (), "3600", "in 3600 seconds", []),
        ("PreToolUse", ("--give-up-after", "5s"), "", "later", [0.25, 0.5, 1, 2, 0.25]),
        ("PreToolUse", ("--give-up-after", "5s"), "soon", "later", [0.25, 0.5, 1, 2, 0.25]),
        # A report has no one waiting for it.
        ("PostToolUse", ("--patience", "20s"), "60", "in 60 seconds", []),
    ],
)
def test_too_many_requests_are_said_to_be_too_many(stand, event, options, seconds, said, pauses):
    with pytest.raises(hook.Blocked) as blocked:
        stand.ask(*options, replies=[busy(seconds)], event=event)
    url = f"{stand.url}/api/v1/hooks/claude-code"
    assert str(blocked.value) == f"There are too many requests: {url} answered 429. Try again {said}."
    assert stand.clock.pauses == pauses


def test_all_calls_of_one_hook_have_one_name_and_another_hook_has_another(stand):
    for _ in range(2):
        stand.ask(replies=[DROPPED, PENDING, ALLOWED])
    assert len(stand.names) == 6
    assert (len({*stand.names[:3]}), len({*stand.names})) == (1, 2)
