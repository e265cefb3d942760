"""The command `pausepoint`: ask people from a shell, answer them, and watch the inbox.

It reads PAUSEPOINT_URL and PAUSEPOINT_KEY. It exits with 0 if the request was approved or answered, 1 if it was not, 2 if the
command is wrong or was refused, 3 if no one has decided yet, 4 if the policy stops the run, and 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib import metadata
from typing import Any

from pausepoint import hook, strict_json
from pausepoint.calls import answer_text
from pausepoint.connect import command as connect
from pausepoint.desk import Desk, DeskError, Outcome, Refused, StillWaiting
from pausepoint.terminal import visible

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
#: Seconds between two looks at the inbox.
LOOK = 2.0
#: Erases the screen and goes to its first place.
CLEAR = "\x1b[2J\x1b[H"
#: What is printed if no one has decided in time and the caller must not go on as after a rejection.
STOPS = "the policy stops the run"


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    if args.run is hook.run:
        return int(hook.run(args))
    try:
        if args.run is connect.run:
            return int(connect.run(args))
        with Desk(args.url, args.key, patience=30) as desk:
            return int(args.run(desk, args))
    except StillWaiting as waiting:
        print(visible(str(waiting)), file=sys.stderr)
        return 3
    except (DeskError, ValueError) as error:
        print(f"pausepoint: {visible(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


class _Version(argparse.Action):
    """Read the version only if it is asked for: a hook has no time for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"pausepoint {metadata.version('pausepoint')}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="pausepoint", description="Ask people, and answer them, through Pausepoint.")
    root.add_argument("--version", action=_Version, nargs=0, help="print the version of this package, and end")
    root.add_argument("--url", default="", help="address of Pausepoint (default: PAUSEPOINT_URL)")
    root.add_argument("--key", default="", help="API key (default: PAUSEPOINT_KEY)")
    commands = root.add_subparsers(required=True, metavar="command")

    asking = commands.add_parser("ask", help="ask a question or for an approval, and wait")
    asking.add_argument("title")
    asking.add_argument("--option", action="append", default=[], metavar="TEXT", help="an answer to choose from")
    asking.add_argument("--multiple", action="store_true", help="more than one option may be chosen")
    asking.add_argument("--tool", default="", help="ask for an approval of this tool")
    asking.add_argument("--input", type=_object, default={}, metavar="JSON", help="the input that would run")
    asking.add_argument("--message", default="", help="more to read, in Markdown")
    asking.add_argument("--priority", choices=("low", "normal", "high", "critical"), default="normal")
    asking.add_argument("--timeout", type=_duration, metavar="10m", help="deadline of the request: 30s, 10m, 2h, 1d")
    asking.add_argument("--name", default="", help="your name of the request: the same name finds the same request")
    asking.add_argument("--no-wait", action="store_true", help="print the request's id and end")
    _waits(asking)
    asking.set_defaults(run=ask)

    waiting = commands.add_parser("wait", help="wait for the decision of a request")
    waiting.add_argument("id")
    _waits(waiting)
    waiting.set_defaults(run=wait)

    for verdict, summary in (("approve", "approve a request"), ("reject", "reject a request, or decline a question")):
        deciding = commands.add_parser(verdict, help=summary)
        deciding.add_argument("id")
        deciding.add_argument("--comment", default="", help="a message to the agent")
        deciding.set_defaults(run=decide, verdict=verdict)

    answering = commands.add_parser("answer", help="answer a question")
    answering.add_argument("id")
    answering.add_argument("answer", nargs="+", help="the text, or the labels of the options")
    answering.add_argument("--comment", default="", help="a message to the agent")
    answering.set_defaults(run=answer)

    hooking = commands.add_parser("hook", help="answer a hook of a coding agent: reads stdin, prints the answer")
    hooking.add_argument("agent", choices=hook.AGENTS)
    hooking.add_argument("--defer", action="store_true", help="end at once; a resumed Claude Code gets the decision")
    for name, default, summary in (
        ("--give-up-after", hook.GIVE_UP, "block after this time; must be less than the hook's timeout"),
        ("--patience", 20.0, "block if Pausepoint cannot be reached for this time"),
    ):
        hooking.add_argument(name, type=_seconds, default=default, metavar="10m", help=summary)
    hooking.set_defaults(run=hook.run)

    connecting = commands.add_parser("connect", help="connect the coding agents and frameworks of a project")
    connect.add_arguments(connecting)
    connecting.set_defaults(run=connect.run)

    listing = commands.add_parser("inbox", help="show the waiting requests, live")
    listing.add_argument("--once", action="store_true", help="print it once and end")
    listing.set_defaults(run=inbox)

    granting = commands.add_parser("grants", help="show what runs without asking, or revoke a grant")
    granting.add_argument("--tool", default="", help="only of this tool")
    granting.add_argument("--ended", action="store_true", help="those that have ended")
    granting.add_argument("--json", action="store_true", help="print the whole grants")
    granting.add_argument(
        "--revoke", default="", metavar="ID", help="end this grant: its calls wait for a person again"
    )
    granting.add_argument("--reason", default="", help="why it is revoked, for the record")
    granting.set_defaults(run=grants)
    return root


def _waits(command: argparse.ArgumentParser) -> None:
    command.add_argument("--give-up-after", type=_duration, metavar="10m", help="end waiting after this; exit code 3")
    command.add_argument("--json", action="store_true", help="print the whole request")


def _duration(text: str) -> timedelta:
    if not (match := re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration like 30s, 10m, 2h or 1d")
    return timedelta(seconds=int(match[1]) * UNITS[match[2]])


def _seconds(text: str) -> float:
    return _duration(text).total_seconds()


def _object(text: str) -> dict[str, Any]:
    try:
        value = strict_json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"this is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("this is not a JSON object")
    return value


def ask(desk: Desk, args: argparse.Namespace) -> int:
    fields: dict[str, Any] = {"message": args.message, "priority": args.priority, "agent": "pausepoint"}
    if args.tool or args.input:
        if args.option or args.multiple:
            raise ValueError("An approval has no options: leave out --tool and --input to ask a question.")
        fields |= {"kind": "approval", "tool_name": args.tool, "input": args.input}
    elif args.multiple and not args.option:
        raise ValueError("With --multiple, give the answers to choose from: --option TEXT for each.")
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
    return _ended(_waited(desk, request["id"], args, f"Waiting for {awaited}: {request.get('url', '')}"), args)


def wait(desk: Desk, args: argparse.Namespace) -> int:
    return _ended(_waited(desk, args.id, args), args)


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
        raise ValueError(f"This is an approval. Decide it: pausepoint approve {args.id}, or pausepoint reject.")
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
        print(json.dumps(grant) if args.json else visible(f"{grant.get('tool_name')}: {grant.get('ended_why')}"))
        return 0
    filters = {"state": "ended" if args.ended else "live"} | ({"tool": args.tool} if args.tool else {})
    rows = desk.grants(**filters)
    if args.json:
        print(json.dumps(list(rows)))
    else:
        print(_columns([_terms(grant) for grant in rows]) or "Nothing runs without asking.")
    return 0


def _terms(grant: dict[str, Any]) -> tuple[str, ...]:
    of = f" of {grant['uses']}" if grant.get("uses") else ""
    until = grant.get("ended_why") or (f"until {grant['until']}" if grant.get("until") else "")
    names = (str(grant.get(name)) for name in ("id", "tool_name", "covers", "audience"))
    cells = (*names, f"used {grant.get('used')}{of}", until, f"by {grant.get('given_by')}", grant.get("unusable") or "")
    return tuple(visible(str(text)) for text in cells)


def _waited(desk: Desk, request_id: str, args: argparse.Namespace, notice: str = "") -> Outcome:
    limit: timedelta | None = args.give_up_after
    try:
        if notice:
            print(visible(notice), file=sys.stderr)
        return desk.wait(request_id, give_up_after=None if limit is None else limit.total_seconds())
    except KeyboardInterrupt:
        print(f"Interrupted. To wait again: pausepoint wait {visible(request_id)}", file=sys.stderr)
        raise


def _ended(outcome: Outcome, args: argparse.Namespace) -> int:
    if args.json:
        print(json.dumps(dict(outcome.document)))
    elif outcome.approved:
        print(json.dumps(dict(outcome.input or {})))
    elif outcome.answer is not None:
        text = answer_text(outcome)
        # A program gets every character; a terminal would obey some of them.
        print(visible(text) if sys.stdout.isatty() else text)
    else:
        reason = STOPS if outcome.halted else outcome.comment
        print(visible(f"{outcome.status}{f': {reason}' if reason else ''}"), file=sys.stderr)
    if outcome.halted:
        return 4
    return 0 if outcome.approved or outcome.answer is not None else 1


def _table(requests: Sequence[dict[str, Any]]) -> str:
    if not requests:
        return "Nothing is waiting."
    columns = ("id", "priority", "kind", "tool_name", "title")
    rows = [tuple(visible(str(request.get(column) or "")) for column in columns) for request in requests]
    return _columns(rows)


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
