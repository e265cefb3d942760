"""`pausepoint hook`: the command hook of Claude Code and Codex.

It reads what the agent reports from stdin, asks Pausepoint, waits over repeated calls, and prints the answer in the shape of the
agent. Whatever goes wrong ends with exit code 2 and words on stderr, which both agents understand as "do not run this". Any
other end of a hook would let the call run, so there is also a clock that ends the command before the agent gives it up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any
from uuid import uuid4

import httpx

from pausepoint import strict_json
from pausepoint.desk import Desk
from pausepoint.desk.transport import FIRST_PAUSE, LIMITS, LONGEST_PAUSE, PASSING, retry_after
from pausepoint.terminal import visible

AGENTS = ("claude-code", "codex")
#: Agents give a hook up after 600 seconds; by then the command has ended.
GIVE_UP = 570.0
#: Seconds that one call waits, that a call may take besides waiting, and that the last words may take.
WAIT, GRACE, LAST = 50.0, 15.0, 15.0
#: Seconds before the end of the waiting at which the request expires, so that no one approves a call that is gone. Of a short
#: time, a fifth; and no request lives shorter than a second or longer than a month.
EARLIER, SHORTEST, LONGEST = 10.0, 1.0, 31 * 86_400
#: Bytes that an agent may report. Pausepoint takes no more than half of it.
MAX_BYTES = 2_000_000
BLOCK = 2
#: The events after a call, which only report.
REPORTS = frozenset({"PostToolUse", "PostToolUseFailure"})
#: The words that answer each event.
WORDS = {
    "PreToolUse": ("allow", "deny", "defer"),
    "PermissionRequest": ("allow", "deny"),
    "Elicitation": ("accept", "decline", "cancel"),
    "UserPromptSubmit": ("block",),
}
#: What else an answer to them may have.
MEMBERS = {
    "PreToolUse": {"permissionDecision", "permissionDecisionReason", "updatedInput"},
    "PermissionRequest": {"decision"},
    "Elicitation": {"action", "content"},
    "UserPromptSubmit": set(),
}
#: The header that says whether a request still waits.
STATUS = "Pausepoint-Status"
#: The header that every answer of Pausepoint to a hook has. Whatever else listens at the address does not send it.
MARK = "Pausepoint-Hook"
#: Whoever starts a program in the background has SIGINT ignored, and a terminal that is closed sends SIGHUP.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Blocked(Exception):
    """The call must not run; the message says why."""


def run(args: argparse.Namespace) -> int:
    """Answer one hook. Every failure, of whatever kind, returns BLOCK, except where nothing can be blocked."""
    event = ""
    try:
        _end_in_time(args.give_up_after)
        for number in SIGNALS:
            signal.signal(number, _interrupt)
        body = sys.stdin.buffer.read(MAX_BYTES + 1)
        event = _event_of(body)
        answer = json.dumps(ask(args, body, event), allow_nan=False)
        # Not `print`, which does nothing if there is no stdout.
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    except BaseException as error:
        # A second signal would end the process in another way.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        # An answer that cannot be written now cannot be written at the end either, where that would change the exit code.
        with contextlib.suppress(Exception):
            sys.stdout.close()
        # An error that escapes would let the call run. What has run already is not blocked.
        return _note(_reason(error)) if event in REPORTS else _block(_reason(error))
    return 0


def _note(explanation: str) -> int:
    _say(f"The result of this call was not reported to Pausepoint. {explanation}")
    return 1


def _block(reason: str) -> int:
    _say(f"Pausepoint could not be asked, so this was not run. {reason}")
    return BLOCK


def _say(message: str) -> None:
    # The exit code blocks, also where no one can read why.
    with contextlib.suppress(Exception):
        print(visible(message), file=sys.stderr, flush=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "The hook was interrupted."
    return str(error) if isinstance(error, Blocked | ValueError) else f"{type(error).__name__}: {error}"


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _end_in_time(seconds: float) -> None:
    """End the process with BLOCK after this time, also if a call hangs."""

    def end() -> None:
        _block("No one answered in time.")
        os._exit(BLOCK)

    clock = threading.Timer(min(seconds + LAST, threading.TIMEOUT_MAX), end)
    clock.daemon = True
    clock.start()


def ask(args: argparse.Namespace, body: bytes, event: str) -> dict[str, Any]:
    """Return the answer to one hook, after as many calls as it takes. Raise Blocked or ValueError if there is none."""
    # Checks the address and the key, and knows how they are sent.
    desk = Desk(args.url, args.key)
    # No one waits for a report, so it gets no longer than an outage.
    seconds = min(args.give_up_after, args.patience) if event in REPORTS else args.give_up_after
    until = time.monotonic() + seconds
    # One name for all calls of this hook, so that it gets again what it had taken when an answer was lost.
    named = {"Idempotency-Key": uuid4().hex}
    with desk, httpx.Client(limits=LIMITS, headers=named) as http:
        while True:
            response = _post(http, desk, args, body, until)
            answer = _read(response, event, args.agent)
            decided = response.headers.get(STATUS) != "pending"
            if args.defer or decided or until - time.monotonic() < SHORTEST:
                return answer


def _expiry(left: float) -> int:
    return int(min(LONGEST, max(SHORTEST, left - min(EARLIER, left / 5))))


def _event_of(body: bytes) -> str:
    if len(body) > MAX_BYTES:
        raise Blocked("The agent reported too much.")
    try:
        report = strict_json.loads(body)
    except ValueError as error:
        raise Blocked(f"The agent did not report JSON: {error}") from error
    if not isinstance(report, dict) or not isinstance(event := report.get("hook_event_name"), str):
        raise Blocked("The agent did not report a hook event.")
    return event


def _post(http: httpx.Client, desk: Desk, args: argparse.Namespace, body: bytes, until: float) -> httpx.Response:
    """Return the response of a call, which is repeated while the server cannot be reached. A repeat finds its request."""
    url, pause = f"{desk.base}/hooks/{args.agent}", FIRST_PAUSE
    away_since: float | None = None
    while True:
        started = time.monotonic()
        reply = _attempt(http, url, desk.headers, body, until - started, defer=args.defer)
        if isinstance(reply, httpx.Response) and reply.status_code not in PASSING:
            return reply
        now, busy, asked_for = time.monotonic(), False, 0.0
        if isinstance(reply, httpx.Response):
            busy, asked_for = reply.status_code == httpx.codes.TOO_MANY_REQUESTS, retry_after(reply)
        if busy:
            away_since = None
        elif away_since is None:
            away_since = now
        elif not isinstance(reply, httpx.ConnectError | httpx.TimeoutException):
            # The server was there for as long as it held the call.
            away_since += now - started
        # After that, not even the shortest request would expire before the hook ends.
        last = until - SHORTEST if away_since is None else min(until - SHORTEST, away_since + args.patience)
        if now >= last or (busy and now + asked_for > last):
            raise Blocked(_failure(url, reply, asked_for))
        time.sleep(min(max(pause, asked_for), last - now))
        pause = min(2 * pause, LONGEST_PAUSE)


def _attempt(
    http: httpx.Client, url: str, headers: dict[str, str], body: bytes, left: float, *, defer: bool
) -> httpx.Response | httpx.TransportError:
    """Call once, for a hook that waits for `left` more seconds."""
    seconds = max(0.0, min(WAIT, left))
    wait = "defer" if defer else f"{seconds:.0f}&expires={_expiry(left)}"
    try:
        return http.post(
            f"{url}?wait={wait}",
            content=body,
            headers={**headers, "Content-Type": "application/json"},
            timeout=httpx.Timeout(GRACE, read=seconds + GRACE),
            follow_redirects=False,
        )
    except httpx.TransportError as error:
        return error


def _failure(url: str, reply: httpx.Response | httpx.TransportError, asked_for: float) -> str:
    if not isinstance(reply, httpx.Response):
        reason = f"{type(reply).__name__} {reply}".strip()
    elif reply.status_code == httpx.codes.TOO_MANY_REQUESTS:
        then = f"in {asked_for:.0f} seconds" if asked_for else "later"
        return f"There are too many requests: {url} answered 429. Try again {then}."
    else:
        reason = f"{reply.status_code} {reply.reason_phrase}"
    return f"{url} did not answer: {reason}. Check that the server runs."


def _read(response: httpx.Response, event: str, agent: str) -> dict[str, Any]:
    """Return the answer in the agent's shape. Raise Blocked for anything that is no such answer."""
    try:
        answer = strict_json.loads(response.content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Blocked(f"The response ({response.status_code}) is not from Pausepoint. Check the address.")
    if response.status_code != httpx.codes.OK:
        errors = answer.get("errors")
        more = "".join(f" {name}: {message}." for name, message in errors.items()) if isinstance(errors, dict) else ""
        raise Blocked(f"{response.status_code}: {answer.get('detail', '')}{more}")
    # Without it, a `{}` of any server would be taken for "not gated".
    if response.headers.get(MARK) != "1":
        message = "The response is not from Pausepoint, or Pausepoint is older than this command."
        raise Blocked(f"{message} Check the address, or update the server.")
    output = answer.get("hookSpecificOutput")
    if answer and not (isinstance(output, dict) and output.get("hookEventName") == event):
        raise Blocked("The response is not an answer to this hook.")
    if isinstance(output, dict) and not _is_known(agent, event, answer, output):
        raise Blocked("The response says something that this command does not know. Update the command.")
    return answer


def _is_known(agent: str, event: str, answer: dict[str, Any], output: dict[str, Any]) -> bool:
    """Return whether an agent does what an answer says: it lets a call run for a word or a member that it does not know."""
    decision = output.get("decision")
    verdicts = {
        "PreToolUse": output.get("permissionDecision"),
        "PermissionRequest": decision.get("behavior") if isinstance(decision, dict) else None,
        "Elicitation": output.get("action"),
        "UserPromptSubmit": answer.get("decision"),
    }
    if event in verdicts and verdicts[event] not in WORDS[event]:
        return False
    if event in verdicts and output.keys() - {"hookEventName"} - MEMBERS[event]:
        return False
    # Claude Code runs a call if `continue` stands beside anything but a denial, and Codex whatever it stands beside.
    more = answer.keys() - {"hookSpecificOutput"}
    if event == "UserPromptSubmit":
        return agent == "claude-code" and more <= {"decision", "reason"}
    return not more or (agent == "claude-code" and more <= {"continue", "stopReason"} and verdicts.get(event) == "deny")
