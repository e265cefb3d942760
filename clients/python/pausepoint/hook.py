"""`pausepoint hook`: the command hook of Claude Code and Codex.

It reads what the agent reports from stdin, asks Pausepoint, waits over repeated calls, and prints the answer in the shape of the
agent. Whatever goes wrong ends with exit code 2 and words on stderr, which both agents understand as "do not run this". Any
other end of a hook would let the call run, so there is also a clock that ends the command before the agent gives it up.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx

from pausepoint.desk import FIRST_PAUSE, LIMITS, LONGEST_PAUSE, PASSING, Desk

AGENTS = ("claude-code", "codex")
#: Agents give a hook up after 600 seconds; by then the command has ended.
GIVE_UP = 570.0
#: Seconds that one call waits, that a call may take besides waiting, and that the last words may take.
WAIT, GRACE, LAST = 50.0, 15.0, 15.0
#: Seconds before the end of the waiting at which the request expires, so that nobody approves a call that is gone. Of a short
#: time, a fifth; and no request lives longer than a month.
EARLIER, LONGEST = 10.0, 31 * 86_400
#: Bytes that an agent may report. Pausepoint takes no more than half of it.
MAX_BYTES = 2_000_000
BLOCK = 2
#: The events after a call, which only report.
REPORTS = frozenset({"PostToolUse", "PostToolUseFailure"})
#: The header that says whether a request still waits.
STATUS = "Pausepoint-Status"


class Blocked(Exception):
    """The call must not run; the message says why."""


def run(given: argparse.Namespace) -> int:
    """Answer one hook. Every failure, of whatever kind, returns BLOCK, except where nothing can be blocked."""
    event = ""
    try:
        _end_in_time(given.give_up_after)
        # SIGINT too: whoever starts a program in the background has it ignored.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
        body = sys.stdin.buffer.read(MAX_BYTES + 1)
        event = _event_of(body)
        print(json.dumps(_ask(given, body, event)), flush=True)
    except BaseException as error:
        # An error that escapes would let the call run. What has run already is not blocked.
        return _note(_words(error)) if event in REPORTS else _block(_words(error))
    return 0


def _note(words: str) -> int:
    print(f"Pausepoint was not told what this call has done. {words}", file=sys.stderr, flush=True)
    return 1


def _block(words: str) -> int:
    print(f"Pausepoint could not be asked, so this was not run. {words}", file=sys.stderr, flush=True)
    return BLOCK


def _words(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "The hook was interrupted."
    return str(error) if isinstance(error, Blocked | ValueError) else f"{type(error).__name__}: {error}"


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _end_in_time(seconds: float) -> None:
    """End the process with BLOCK after this time, also if a call hangs."""

    def end() -> None:
        _block("Nobody answered in time.")
        os._exit(BLOCK)

    clock = threading.Timer(seconds + LAST, end)
    clock.daemon = True
    clock.start()


def _ask(given: argparse.Namespace, body: bytes, event: str) -> dict[str, Any]:
    # Checks the address and the key, and knows how they are sent.
    desk = Desk(given.url, given.key)
    until = time.monotonic() + given.give_up_after
    with desk, httpx.Client(limits=LIMITS) as http:
        for seconds in _waits(until):
            wait = "defer" if given.defer else f"{seconds:.0f}&expires={_expiry(until - time.monotonic())}"
            url = f"{desk.base}/hooks/{given.agent}?wait={wait}"
            headers = {**desk.headers, "Content-Type": "application/json"}
            response = _post(http, url, body, headers, seconds, min(until, time.monotonic() + given.patience))
            answer = _read(response, event)
            if given.defer or response.headers.get(STATUS) != "pending":
                return answer
    return answer


def _expiry(left: float) -> int:
    return int(min(LONGEST, max(1, left - min(EARLIER, left / 5))))


def _event_of(body: bytes) -> str:
    if len(body) > MAX_BYTES:
        raise Blocked("The agent reported too much.")
    try:
        found = json.loads(body)
    except ValueError as error:
        raise Blocked(f"The agent did not report JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(event := found.get("hook_event_name"), str):
        raise Blocked("The agent did not report a hook event.")
    return event


def _waits(until: float) -> Iterator[float]:
    """Yield for how many seconds each call waits, at least once."""
    while True:
        left = until - time.monotonic()
        yield max(0.0, min(WAIT, left))
        if until - time.monotonic() < 1:
            return


def _post(
    http: httpx.Client, url: str, body: bytes, headers: dict[str, str], seconds: float, until: float
) -> httpx.Response:
    """Return the response of a call, which is repeated while the server cannot be reached. A repeat finds its request."""
    pause = FIRST_PAUSE
    while True:
        timeout = httpx.Timeout(GRACE, read=seconds + GRACE)
        try:
            response = http.post(url, content=body, headers=headers, timeout=timeout, follow_redirects=False)
            reason = f"{response.status_code} {response.reason_phrase}"
        except httpx.TransportError as error:
            response, reason = None, f"{type(error).__name__} {error}".strip()
        if response is not None and response.status_code not in PASSING:
            return response
        if time.monotonic() + pause > until:
            raise Blocked(f"{url.partition('?')[0]} did not answer: {reason}. Check that the server runs.")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _read(response: httpx.Response, event: str) -> dict[str, Any]:
    """Return the answer in the agent's shape. Raise Blocked for anything that is no such answer."""
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Blocked(f"The response ({response.status_code}) is not from Pausepoint. Check the address.")
    if response.status_code != httpx.codes.OK:
        errors = found.get("errors")
        more = "".join(f" {name}: {words}." for name, words in errors.items()) if isinstance(errors, dict) else ""
        raise Blocked(f"{response.status_code}: {found.get('detail', '')}{more}")
    said = found.get("hookSpecificOutput")
    if found and not (isinstance(said, dict) and said.get("hookEventName") == event):
        raise Blocked("The response is not an answer to this hook.")
    return found
