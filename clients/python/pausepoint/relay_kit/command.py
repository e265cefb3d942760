"""The command `pausepoint relay-kit`."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import time

import httpx

from pausepoint.relay_kit.checks import run_checks
from pausepoint.relay_kit.kit import ACCOUNT, SECRET, Kit, Press, serving


def run(args: argparse.Namespace) -> int:
    secret = os.environ.get("PAUSEPOINT_RELAY_SECRET") or SECRET
    kit = Kit(args.relay, _pressing(args.press), secret, args.account, args.wait)
    try:
        with serving(kit, args.port) as address:
            print(
                f"Run the relay with PAUSEPOINT_RELAY={address} and PAUSEPOINT_RELAY_SECRET={secret}"
            )
            _wait_for(args.relay, args.wait)
            return 1 if run_checks(kit) else 0
    except OSError as error:
        raise ValueError(
            f"Port {args.port} cannot be used: {error}. Choose another --port."
        ) from error


def _wait_for(relay: str, seconds: float) -> None:
    """Wait until the relay answers anything, or until this many seconds have passed: the first check then says so."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            httpx.post(relay, content=b"")
            return
        except httpx.HTTPError:
            time.sleep(0.5)


def _pressing(command: str) -> Press:
    """Return what plays the person: a command, or the person who reads this."""

    def by_command(account: str, label: str, text: str) -> None:
        pressed = [*shlex.split(command), account, label, text]
        subprocess.run(pressed, check=False)  # noqa: S603 - the command of the person who runs the kit

    def by_hand(account: str, label: str, text: str) -> None:
        typed = f" and type {text!r}" if text else ""
        print(
            f"        In the chat of {account}: press {label!r}{typed}, if you can.",
            flush=True,
        )

    return by_command if command else by_hand


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "relay", help="where the relay takes messages, such as http://127.0.0.1:9100/"
    )
    command.add_argument(
        "--port",
        type=int,
        default=9101,
        help="where the relay posts to (default: 9101)",
    )
    command.add_argument(
        "--account",
        default=ACCOUNT,
        help="the account of the person in the chat, as the relay names it",
    )
    command.add_argument(
        "--press",
        default="",
        metavar="COMMAND",
        help="plays the person: it is run with an account, the label of a button and a text; without it, you do",
    )
    command.add_argument(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait for an answer",
    )
    command.set_defaults(run=run)
