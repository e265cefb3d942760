"""The subcommands of `pausepoint`: ask, wait, answer, and list. Each returns the exit code."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pausepoint import execution
from pausepoint.calls import answer_text
from pausepoint.desk import Desk, Outcome, Refused
from pausepoint.terminal import visible

#: Seconds between two refreshes of the inbox.
LOOK = 2.0
#: Clears the screen and moves the cursor to the top left.
CLEAR = "\x1b[2J\x1b[H"
#: Printed if no one has decided in time and the caller must not continue as after a rejection.
STOPS = "the policy stops the run"


def ask(desk: Desk, args: argparse.Namespace) -> int:
    fields: dict[str, Any] = {
        "message": args.message,
        "priority": args.priority,
        "agent": "pausepoint",
    }
    if args.exec:
        if not args.tool or args.no_wait:
            raise ValueError(
                "--exec runs what was approved: give --tool, and leave out --no-wait."
            )
        execution.check_command(args.exec, args.input)
    if args.tool or args.input:
        if args.option or args.multiple:
            raise ValueError(
                "An approval has no options: leave out --tool and --input to ask a question."
            )
        fields |= {"kind": "approval", "tool_name": args.tool, "input": args.input}
    elif args.multiple and not args.option:
        raise ValueError(
            "With --multiple, give the answers to choose from: --option TEXT for each."
        )
    else:
        fields |= {
            "kind": "question",
            "options": args.option,
            "multiple": args.multiple,
            "allow_text": bool(args.option),
        }
    if args.timeout:
        fields["timeout"] = args.timeout
    try:
        request = desk.ask(args.title, idempotency_key=args.name, **fields)
    except Refused as refused:
        if refused.code == "conflict" and args.name:
            message = f"{args.name!r} is the name of a request with other content. Use another --name, or ask the same."
            raise ValueError(message) from refused
        raise
    if args.no_wait:
        print(json.dumps(request) if args.json else visible(request["id"]))
        return 0
    awaited = "a decision" if fields["kind"] == "approval" else "an answer"
    outcome = _waited(
        desk, request["id"], args, f"Waiting for {awaited}: {request.get('url', '')}"
    )
    return _ended(desk, outcome, args)


def wait(desk: Desk, args: argparse.Namespace) -> int:
    if args.exec:
        execution.check_command(args.exec)
    return _ended(desk, _waited(desk, args.id, args), args)


def decide(desk: Desk, args: argparse.Namespace) -> int:
    try:
        outcome = desk.decide(args.id, args.verdict, comment=args.comment)
    except Refused as refused:
        if "verdict" in refused.errors:
            message = f"Only an approval can be approved. Answer this request: pausepoint answer {args.id} TEXT"
            raise ValueError(message) from refused
        raise
    counted = (
        f", your vote is counted: {outcome.votes.get('progress')}"
        if outcome.status == "pending" and outcome.votes
        else ""
    )
    print(visible(f"{outcome.document.get('title')}: {outcome.status}{counted}"))
    return 0


def answer(desk: Desk, args: argparse.Namespace) -> int:
    request = desk.get(args.id)
    if request.get("kind") == "approval":
        raise ValueError(
            f"This is an approval. Decide it: pausepoint approve {args.id}, or pausepoint reject."
        )
    chosen: Any = args.answer if request.get("multiple") else " ".join(args.answer)
    outcome = desk.decide(args.id, "respond", comment=args.comment, answer=chosen)
    print(visible(f"{outcome.document.get('title')}: {answer_text(outcome)}"))
    return 0


def inbox(desk: Desk, args: argparse.Namespace) -> int:
    if args.once:
        print(_table(desk.list(status="pending")))
        return 0
    shown = ""
    while True:
        table = _table(desk.list(status="pending"))
        if table != shown:
            print(f"{CLEAR if sys.stdout.isatty() else ''}{table}\n", flush=True)
            shown = table
        time.sleep(LOOK)


def grants(desk: Desk, args: argparse.Namespace) -> int:
    if args.revoke:
        grant = desk.revoke(args.revoke, reason=args.reason)
        print(
            json.dumps(grant)
            if args.json
            else visible(f"{grant.get('tool_name')}: {grant.get('ended_why')}")
        )
        return 0
    filters = {"state": "ended" if args.ended else "live"} | (
        {"tool": args.tool} if args.tool else {}
    )
    rows = desk.grants(**filters)
    if args.json:
        print(json.dumps(list(rows)))
    else:
        print(
            _columns([_terms(grant) for grant in rows])
            or "Nothing runs without asking."
        )
    return 0


def _terms(grant: dict[str, Any]) -> tuple[str, ...]:
    of = f" of {grant['uses']}" if grant.get("uses") else ""
    until = grant.get("ended_why") or (
        f"until {grant['until']}" if grant.get("until") else ""
    )
    names = (str(grant.get(name)) for name in ("id", "tool_name", "covers", "audience"))
    cells = (
        *names,
        f"used {grant.get('used')}{of}",
        until,
        f"by {grant.get('given_by')}",
        grant.get("unusable") or "",
    )
    return tuple(visible(str(text)) for text in cells)


def _waited(
    desk: Desk, request_id: str, args: argparse.Namespace, notice: str = ""
) -> Outcome:
    limit: timedelta | None = args.give_up_after
    try:
        if notice:
            print(visible(notice), file=sys.stderr)
        return desk.wait(
            request_id, give_up_after=None if limit is None else limit.total_seconds()
        )
    except KeyboardInterrupt:
        print(
            f"Interrupted. To wait again: pausepoint wait {visible(request_id)}",
            file=sys.stderr,
        )
        raise


def _ended(desk: Desk, outcome: Outcome, args: argparse.Namespace) -> int:
    if outcome.approved:
        if args.exec:
            return execution.run_approved(desk, outcome, args.exec)
        return _approved(desk, outcome, args)
    if args.json:
        print(json.dumps(dict(outcome.document)))
    elif outcome.answer is not None:
        text = answer_text(outcome)
        # A program gets every character; a terminal would interpret some of them.
        print(visible(text) if sys.stdout.isatty() else text)
    else:
        reason = STOPS if outcome.halted else outcome.comment
        print(
            visible(f"{outcome.status}{f': {reason}' if reason else ''}"),
            file=sys.stderr,
        )
    if outcome.halted:
        return 4
    return 0 if outcome.answer is not None else 1


def _approved(desk: Desk, outcome: Outcome, args: argparse.Namespace) -> int:
    """Print the approved input. An approval lets one call run, so only the first command that gets here exits with 0."""
    if not execution.use(desk, outcome):
        print(
            "This approval was used before. Ask again to run the same once more.",
            file=sys.stderr,
        )
        return execution.USED
    print(
        json.dumps(dict(outcome.document) if args.json else dict(outcome.input or {}))
    )
    if outcome.edited:
        print(
            "Approved with changes: run the printed input, not the one that you asked about.",
            file=sys.stderr,
        )
        return execution.CHANGED
    return 0


def _table(requests: Sequence[dict[str, Any]]) -> str:
    if not requests:
        return "Nothing is waiting."
    columns = ("id", "priority", "kind", "tool_name", "title")
    rows = [
        tuple(visible(str(request.get(column) or "")) for column in columns)
        for request in requests
    ]
    return _columns(rows)


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) for text, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    )
