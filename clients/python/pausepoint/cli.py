"""The command `pausepoint`: ask people from a shell, answer them, and watch the inbox.

It reads PAUSEPOINT_URL and PAUSEPOINT_KEY. It exits with 0 if the request was approved or answered, 1 if it was not, 2 if the
command is wrong or was refused, 3 if no one has decided yet, 4 if the policy stops the run, 5 if it was approved with changes
that the caller has to run, 6 if the approval was used before, and 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from importlib import metadata
from typing import Any

from pausepoint import commands, strict_json
from pausepoint.connect import command as connect
from pausepoint.desk import Desk, DeskError, StillWaiting
from pausepoint.hook import command as hook
from pausepoint.relay_kit import command as relay_kit
from pausepoint.terminal import visible

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    if args.run is hook.run:
        return int(hook.run(args))
    try:
        if args.run is connect.run:
            return int(connect.run(args))
        if args.run is relay_kit.run:
            return int(relay_kit.run(args))
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
    """Read the version only on demand: a hook has no time for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"pausepoint {metadata.version('pausepoint')}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="pausepoint",
        description="Ask people, and answer them, through Pausepoint.",
    )
    root.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the version of this package, and end",
    )
    root.add_argument(
        "--url", default="", help="address of Pausepoint (default: PAUSEPOINT_URL)"
    )
    root.add_argument("--key", default="", help="API key (default: PAUSEPOINT_KEY)")
    added = root.add_subparsers(required=True, metavar="command")
    _add_asking(added)
    _add_deciding(added)
    _add_agents(added)
    _add_lists(added)
    return root


def _add_asking(added: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    asking = added.add_parser("ask", help="ask a question or for an approval, and wait")
    asking.add_argument("title")
    asking.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="TEXT",
        help="an answer to choose from",
    )
    asking.add_argument(
        "--multiple", action="store_true", help="more than one option may be chosen"
    )
    asking.add_argument("--tool", default="", help="ask for an approval of this tool")
    asking.add_argument(
        "--input",
        type=_object,
        default={},
        metavar="JSON",
        help="the input that would run",
    )
    asking.add_argument("--message", default="", help="more to read, in Markdown")
    asking.add_argument(
        "--priority", choices=("low", "normal", "high", "critical"), default="normal"
    )
    asking.add_argument(
        "--timeout",
        type=_duration,
        metavar="10m",
        help="deadline of the request: 30s, 10m, 2h, 1d",
    )
    asking.add_argument(
        "--name",
        default="",
        help="your name of the request: the same name finds the same request",
    )
    asking.add_argument(
        "--no-wait", action="store_true", help="print the request's id and end"
    )
    _waits(asking)
    asking.set_defaults(run=commands.ask)

    waiting = added.add_parser("wait", help="wait for the decision of a request")
    waiting.add_argument("id")
    _waits(waiting)
    waiting.set_defaults(run=commands.wait)


def _add_deciding(added: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for verdict, summary in (
        ("approve", "approve a request"),
        ("reject", "reject a request, or decline a question"),
    ):
        deciding = added.add_parser(verdict, help=summary)
        deciding.add_argument("id")
        deciding.add_argument("--comment", default="", help="a message to the agent")
        deciding.set_defaults(run=commands.decide, verdict=verdict)

    answering = added.add_parser("answer", help="answer a question")
    answering.add_argument("id")
    answering.add_argument(
        "answer", nargs="+", help="the text, or the labels of the options"
    )
    answering.add_argument("--comment", default="", help="a message to the agent")
    answering.set_defaults(run=commands.answer)


def _add_agents(added: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    hooking = added.add_parser(
        "hook", help="answer a hook of a coding agent: reads stdin, prints the answer"
    )
    hooking.add_argument("agent", choices=hook.AGENTS)
    hooking.add_argument(
        "--defer",
        action="store_true",
        help="end at once; a resumed Claude Code gets the decision",
    )
    for name, default, summary in (
        (
            "--give-up-after",
            hook.GIVE_UP,
            "block after this time; must be less than the hook's timeout",
        ),
        ("--patience", 20.0, "block if Pausepoint cannot be reached for this time"),
    ):
        hooking.add_argument(
            name, type=_seconds, default=default, metavar="10m", help=summary
        )
    hooking.set_defaults(run=hook.run)

    connecting = added.add_parser(
        "connect", help="connect the coding agents and frameworks of a project"
    )
    connect.add_arguments(connecting)
    connecting.set_defaults(run=connect.run)

    checking = added.add_parser(
        "relay-kit", help="check a relay that carries requests into a chat"
    )
    relay_kit.add_arguments(checking)


def _add_lists(added: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = added.add_parser("inbox", help="show the waiting requests, live")
    listing.add_argument("--once", action="store_true", help="print it once and end")
    listing.set_defaults(run=commands.inbox)

    granting = added.add_parser(
        "grants", help="show what runs without asking, or revoke a grant"
    )
    granting.add_argument("--tool", default="", help="only of this tool")
    granting.add_argument("--ended", action="store_true", help="those that have ended")
    granting.add_argument("--json", action="store_true", help="print the whole grants")
    granting.add_argument(
        "--revoke",
        default="",
        metavar="ID",
        help="end this grant: its calls wait for a person again",
    )
    granting.add_argument(
        "--reason", default="", help="why it is revoked, for the record"
    )
    granting.set_defaults(run=commands.grants)


def _waits(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--give-up-after",
        type=_duration,
        metavar="10m",
        help="end waiting after this; exit code 3",
    )
    command.add_argument("--json", action="store_true", help="print the whole request")
    command.add_argument(
        "--exec",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="COMMAND",
        help="the last option: run this command once it is approved, with the approved input in place of {}, or a member "
        "of it in place of {member}, report how it ended, and end with its exit code",
    )


def _duration(text: str) -> timedelta:
    if not (match := re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration like 30s, 10m, 2h or 1d"
        )
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


if __name__ == "__main__":
    sys.exit(main())
