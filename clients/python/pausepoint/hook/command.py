"""`pausepoint hook`: the command hook of coding agents.

It reads the agent's hook input from stdin, asks Pausepoint, waits over repeated calls, and prints the answer in the agent's
format. Any failure ends with exit code 2 and a message on stderr, which all agents understand as "do not run this". Any other
end of a hook would let the call run, so a timer also ends the command before the agent gives up on it.
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
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from pausepoint import strict_json
from pausepoint.desk.transport import (
    FIRST_PAUSE,
    LIMITS,
    LONGEST_PAUSE,
    PASSING,
    Settings,
    retry_after,
)
from pausepoint.hook.forms import AFTER, BEFORE, FORMS
from pausepoint.terminal import visible

AGENTS = tuple(FORMS)
#: Agents give up on a hook after 600 seconds; the command ends before that.
GIVE_UP = 570.0
#: Seconds that one call waits, that a call may take besides waiting, and that printing the answer may take.
WAIT, GRACE, LAST = 50.0, 15.0, 15.0
#: Seconds before the end of the wait at which the request expires, so that no one approves an abandoned call. For a short wait,
#: a fifth of it; a request lives for at least a second and at most a month.
EARLIER, SHORTEST, LONGEST = 10.0, 1.0, 31 * 86_400
#: Maximum bytes of the agent's input. Pausepoint accepts half of it.
MAX_BYTES = 2_000_000
BLOCK = 2
#: Events after a call, which only report.
REPORTS = frozenset({AFTER, "PostToolUseFailure"})
#: The valid values of the answer to each event.
WORDS = {
    BEFORE: ("allow", "deny", "defer"),
    "PermissionRequest": ("allow", "deny"),
    "Elicitation": ("accept", "decline", "cancel"),
    "UserPromptSubmit": ("block",),
}
#: Other members that an answer to them may have.
MEMBERS = {
    BEFORE: {"permissionDecision", "permissionDecisionReason", "updatedInput"},
    "PermissionRequest": {"decision"},
    "Elicitation": {"action", "content"},
    "UserPromptSubmit": set(),
}
#: The header with the status of the request.
STATUS = "Pausepoint-Status"
#: The header in every answer of Pausepoint to a hook; other servers at the address do not send it.
MARK = "Pausepoint-Hook"
#: Background programs often ignore SIGINT, and closing a terminal sends SIGHUP.
SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
)


class Blocked(Exception):
    """The call must not run; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """The hook input of an agent in Pausepoint's form: its event, the document, and the same as the bytes to send."""

    event: str
    document: dict[str, Any]
    body: bytes


def run(args: argparse.Namespace) -> int:
    """Answer one hook. Return BLOCK on every failure of any kind, except where nothing can be blocked."""
    event = ""
    try:
        _end_in_time(args.give_up_after)
        for number in SIGNALS:
            signal.signal(number, _interrupt)
        report = report_in(sys.stdin.buffer.read(MAX_BYTES + 1), args.agent)
        event = report.event
        written = json.dumps(answered(args, report), allow_nan=False)
        # Not `print`, which does nothing without a stdout.
        sys.stdout.write(f"{written}\n")
        sys.stdout.flush()
    except BaseException as error:
        # A second signal would end the process in another way.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        # An answer that cannot be written now cannot be written at exit either, where that would change the exit code.
        with contextlib.suppress(Exception):
            sys.stdout.close()
        # An escaping error would let the call run. A call that has already run is not blocked.
        return _note(_reason(error)) if event in REPORTS else _block(_reason(error))
    return 0


def _note(explanation: str) -> int:
    _say(f"The result of this call was not reported to Pausepoint. {explanation}")
    return 1


def _block(reason: str) -> int:
    _say(f"Pausepoint could not be asked, so this was not run. {reason}")
    return BLOCK


def _say(message: str) -> None:
    # The exit code blocks even if no one can read the message.
    with contextlib.suppress(Exception):
        print(visible(message), file=sys.stderr, flush=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "The hook was interrupted."
    return (
        str(error)
        if isinstance(error, Blocked | ValueError)
        else f"{type(error).__name__}: {error}"
    )


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _end_in_time(seconds: float) -> None:
    """End the process with BLOCK after this time, even if a call hangs."""

    def end() -> None:
        _block("No one answered in time.")
        os._exit(BLOCK)

    clock = threading.Timer(min(seconds + LAST, threading.TIMEOUT_MAX), end)
    clock.daemon = True
    clock.start()


def answered(args: argparse.Namespace, report: Report) -> dict[str, Any]:
    """Return the answer to a report in the form of the agent. Raise Blocked or ValueError if there is none."""
    form = FORMS[args.agent]
    answer = ask(args, report.body, report.event)
    if form.keeps_input:
        _require_same_input(report.document, answer)
    return answer if form.write is None else form.write(answer)


def ask(args: argparse.Namespace, body: bytes, event: str) -> dict[str, Any]:
    """Return the answer to one hook, after as many calls as it takes. Raise Blocked or ValueError if there is none."""
    # Validates the address and the key, and builds the headers.
    desk = Settings(args.url, args.key)
    # No one waits for a report, so it is retried only for the length of an outage.
    seconds = (
        min(args.give_up_after, args.patience)
        if event in REPORTS
        else args.give_up_after
    )
    until = time.monotonic() + seconds
    # One name for all calls of this hook, so that it gets a consumed decision again after a lost response.
    named = {"Idempotency-Key": uuid4().hex}
    with httpx.Client(limits=LIMITS, headers=named) as http:
        while True:
            response = _post(http, desk, args, body, until)
            answer = _read(response, event, args.agent)
            decided = response.headers.get(STATUS) != "pending"
            if args.defer or decided or until - time.monotonic() < SHORTEST:
                return answer


def _expiry(left: float) -> int:
    return int(min(LONGEST, max(SHORTEST, left - min(EARLIER, left / 5))))


def report_in(body: bytes, agent: str) -> Report:
    """Return the report of the agent. Raise Blocked."""
    if len(body) > MAX_BYTES:
        raise Blocked("The agent reported too much.")
    try:
        document = strict_json.loads(body)
    except ValueError as error:
        raise Blocked(f"The agent did not report JSON: {error}") from error
    form = FORMS[agent]
    if isinstance(document, dict) and form.read is not None:
        document = form.read(document)
        body = json.dumps(document, allow_nan=False).encode()
    event = document.get("hook_event_name") if isinstance(document, dict) else None
    if not isinstance(event, str):
        raise Blocked("The agent did not report a hook event.")
    return Report(event, document, body)


def _post(
    http: httpx.Client,
    desk: Settings,
    args: argparse.Namespace,
    body: bytes,
    until: float,
) -> httpx.Response:
    """Return the response of a call, which is repeated while the server cannot be reached. A repeat finds its request."""
    url, pause = f"{desk.base}/hooks/{args.agent}", FIRST_PAUSE
    away_since: float | None = None
    while True:
        started = time.monotonic()
        reply = _attempt(
            http, url, desk.headers, body, until - started, defer=args.defer
        )
        if isinstance(reply, httpx.Response) and reply.status_code not in PASSING:
            return reply
        now, busy, asked_for = time.monotonic(), False, 0.0
        if isinstance(reply, httpx.Response):
            busy, asked_for = (
                reply.status_code == httpx.codes.TOO_MANY_REQUESTS,
                retry_after(reply),
            )
        if busy:
            away_since = None
        elif away_since is None:
            away_since = now
        elif not isinstance(reply, httpx.ConnectError | httpx.TimeoutException):
            # The server was reachable for as long as it held the call.
            away_since += now - started
        # After that, not even the shortest request would expire before the hook ends.
        last = (
            until - SHORTEST
            if away_since is None
            else min(until - SHORTEST, away_since + args.patience)
        )
        if now >= last or (busy and now + asked_for > last):
            raise Blocked(_failure(url, reply, asked_for))
        time.sleep(min(max(pause, asked_for), last - now))
        pause = min(2 * pause, LONGEST_PAUSE)


def _attempt(
    http: httpx.Client,
    url: str,
    headers: dict[str, str],
    body: bytes,
    left: float,
    *,
    defer: bool,
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


def _failure(
    url: str, reply: httpx.Response | httpx.TransportError, asked_for: float
) -> str:
    if not isinstance(reply, httpx.Response):
        reason = f"{type(reply).__name__} {reply}".strip()
    elif reply.status_code == httpx.codes.TOO_MANY_REQUESTS:
        then = f"in {asked_for:.0f} seconds" if asked_for else "later"
        return f"There are too many requests: {url} answered 429. Try again {then}."
    else:
        reason = f"{reply.status_code} {reply.reason_phrase}"
    return f"{url} did not answer: {reason}. Check that the server runs."


def _read(response: httpx.Response, event: str, agent: str) -> dict[str, Any]:
    """Return the answer in the agent's format. Raise Blocked for anything else."""
    try:
        answer = strict_json.loads(response.content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Blocked(
            f"The response ({response.status_code}) is not from Pausepoint. Check the address."
        )
    if response.status_code != httpx.codes.OK:
        errors = answer.get("errors")
        more = (
            "".join(f" {name}: {message}." for name, message in errors.items())
            if isinstance(errors, dict)
            else ""
        )
        raise Blocked(f"{response.status_code}: {answer.get('detail', '')}{more}")
    # Without it, a `{}` from any server would count as "not gated".
    if response.headers.get(MARK) != "1":
        message = "The response is not from Pausepoint, or Pausepoint is older than this command."
        raise Blocked(f"{message} Check the address, or update the server.")
    output = answer.get("hookSpecificOutput")
    if answer and not (
        isinstance(output, dict) and output.get("hookEventName") == event
    ):
        raise Blocked("The response is not an answer to this hook.")
    if isinstance(output, dict) and not _is_known(agent, event, answer, output):
        raise Blocked(
            "The response says something that this command does not know. Update the command."
        )
    return answer


def _require_same_input(report: dict[str, Any], answer: dict[str, Any]) -> None:
    """Raise Blocked if a call was approved with another input than the one that would run."""
    own = report.get("tool_input")
    if answer.get("hookSpecificOutput", {}).get("updatedInput", own) != own:
        raise Blocked("The call was approved with changes, which this agent ignores.")


def _is_known(
    agent: str, event: str, answer: dict[str, Any], output: dict[str, Any]
) -> bool:
    """Return whether an agent obeys an answer: it lets a call run after an unknown value or member."""
    decision = output.get("decision")
    verdicts = {
        BEFORE: output.get("permissionDecision"),
        "PermissionRequest": decision.get("behavior")
        if isinstance(decision, dict)
        else None,
        "Elicitation": output.get("action"),
        "UserPromptSubmit": answer.get("decision"),
    }
    if event in verdicts and verdicts[event] not in WORDS[event]:
        return False
    if event in verdicts and output.keys() - {"hookEventName"} - MEMBERS[event]:
        return False
    # Claude Code runs a call if `continue` accompanies anything but a denial; Codex runs it in every case. Others were not tried.
    more = answer.keys() - {"hookSpecificOutput"}
    if event == "UserPromptSubmit":
        return agent == "claude-code" and more <= {"decision", "reason"}
    return not more or (
        agent == "claude-code"
        and more <= {"continue", "stopReason"}
        and verdicts.get(event) == "deny"
    )
