"""Run a command with the approved input, once, and report how it ended."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from pausepoint import gate
from pausepoint.desk import Desk, LeaseLost, Outcome, Refused
from pausepoint.gate import Ruling
from pausepoint.terminal import visible

#: Placeholder argument for the whole approved input, as JSON.
WHOLE = "{}"
#: Placeholder argument for one member of it.
MEMBER = re.compile(r"\{([^{}]+)\}")
#: The exit code if the approved input differs from the requested one.
CHANGED = 5
#: The exit code if the approval was used before.
USED = 6


class CommandFailed(Exception):
    """The command exited with a code other than 0."""

    def __init__(self, name: str, code: int) -> None:
        self.code = code
        super().__init__(f"{name} ended with exit code {code}")


def check_command(
    command: Sequence[str], asked: Mapping[str, Any] | None = None
) -> None:
    """Raise ValueError for a command that does not exist, or whose arguments name members that the input lacks."""
    if shutil.which(command[0]) is None:
        raise ValueError(f"There is no command {command[0]!r} to run.")
    missing = [] if asked is None else sorted(_members(command) - asked.keys())
    if missing:
        raise ValueError(
            f"The input has no member {missing[0]!r}, which stands in the command."
        )


def run_approved(desk: Desk, outcome: Outcome, command: Sequence[str]) -> int:
    """Claim an approval, run the command with the approved input, report how it ended, and return the exit code.

    If it has already run, return how that ended, without running it again; if another process is running it, wait for that.
    """
    ruling = gate.claimed(desk, Ruling(outcome, question=False), {})
    if not ruling.runs:
        print(visible(ruling.text), file=sys.stderr)
        if ruling.outcome.halted:
            return 4
        return 0 if ruling.succeeded else 1
    if not _takes(command, ruling):
        gate.release(desk, ruling)
        print(json.dumps(ruling.input))
        print(
            "Approved with changes that the command does not take, so it was not run: give it {} or these members.",
            file=sys.stderr,
        )
        return CHANGED
    try:
        gate.run(
            desk, ruling, _run, [_argument(word, ruling.input) for word in command]
        )
    except CommandFailed as failed:
        return failed.code
    return 0


def use(desk: Desk, outcome: Outcome) -> bool:
    """Use up an approval, for a caller that runs something itself; return False if it was used before."""
    try:
        with desk.resume(outcome.request_id) as resume:
            # If a process ended while it held the approval, it is unknown what it has run.
            if not resume.taken[0].document.get("lost_by"):
                return True
            resume.give_back("The approval may have been used before.")
    except LeaseLost:
        pass
    except Refused as refused:
        if refused.code not in {"resume_taken", "already_resumed"}:
            raise
    return False


def _takes(command: Sequence[str], ruling: Ruling) -> bool:
    """Return whether the command gets every member in which the approved input differs from the requested one."""
    asked: Mapping[str, Any] = ruling.outcome.document.get("input") or {}
    approved = ruling.input
    names = asked.keys() | approved.keys()
    changed = {name for name in names if _json(asked, name) != _json(approved, name)}
    if not changed or WHOLE in command:
        return True
    return changed <= _members(command) and _members(command) <= approved.keys()


def _json(document: Mapping[str, Any], name: str) -> str | None:
    """Return a member as text, so that 1 differs from true."""
    return json.dumps(document[name], sort_keys=True) if name in document else None


def _members(command: Sequence[str]) -> set[str]:
    return {match[1] for word in command if (match := MEMBER.fullmatch(word))}


def _argument(word: str, approved: Mapping[str, Any]) -> str:
    if word == WHOLE:
        return json.dumps(dict(approved), ensure_ascii=False)
    match = MEMBER.fullmatch(word)
    if match is None:
        return word
    value = approved[match[1]]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _run(arguments: Sequence[str]) -> dict[str, int]:
    # The command is the caller's own; only values come from people, each as one argument that no shell reads.
    with subprocess.Popen(arguments) as process, _signals_to(process):  # noqa: S603 - see above
        code = process.wait()
    if code:
        # Like a shell's exit code for a command ended by a signal.
        raise CommandFailed(arguments[0], code if code > 0 else 128 - code)
    return {"exit_code": 0}


@contextmanager
def _signals_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave interrupts to the command, which also gets them from the terminal; pass on SIGTERM, so that its end is reported."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    terminated = signal.signal(signal.SIGTERM, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, terminated)
