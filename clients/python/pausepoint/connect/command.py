"""`pausepoint connect`: find coding agents, test the address and the key, show the change of their settings, write it on yes."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from pausepoint.calls import answer_text
from pausepoint.connect import agents, projects
from pausepoint.connect.agents import AGENTS, CLAUDE_CODE, Agent
from pausepoint.connect.files import (
    CannotChange,
    Change,
    ChangedMeanwhile,
    followed,
    inside,
    read,
)
from pausepoint.connect.proof import NotProven, prove
from pausepoint.connect.setups import SETUPS, Setup
from pausepoint.desk import Desk
from pausepoint.terminal import visible

#: The documentation pages in the repository.
PAGES = "docs/how-to/"
#: Exit code if settings cannot be changed.
CANNOT = 2


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--project",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the project (default: this folder)",
    )
    command.add_argument(
        "--agent",
        action="append",
        choices=tuple(AGENTS),
        default=[],
        help="only this one (default: those that are found)",
    )
    command.add_argument(
        "--user",
        action="store_true",
        help="Claude Code: your own settings, not those of the project",
    )
    command.add_argument(
        "--defer",
        action="store_true",
        help="Claude Code: end instead of waiting; resume it later",
    )
    command.add_argument("--yes", action="store_true", help="write without asking")
    command.add_argument(
        "--remove", action="store_true", help="undo: remove the hooks of Pausepoint"
    )
    command.add_argument(
        "--no-test", action="store_true", help="do not make a test request"
    )
    command.add_argument(
        "--wait",
        action="store_true",
        help="wait until someone has answered the test request",
    )


def run(args: argparse.Namespace) -> int:
    """Connect a project. Return 0 if everything is set up, 1 if a change was declined."""
    if not args.project.is_dir():
        raise ValueError(f"There is no folder {args.project}.")
    project = projects.search(args.project)
    if args.remove:
        changes = _changes(args, project)
        return CANNOT if changes is None else _make_all(changes, args)
    with Desk(args.url, args.key, patience=10) as desk:
        # Offline checks first, so that settings that cannot be changed leave no request in the Inbox.
        changes = _changes(args, project, desk.base.removesuffix("/api/v1"))
        if changes is None:
            return CANNOT
        # Before anything is written, because hooks with a wrong address or key block every call.
        test = None if args.no_test else _test_request(desk)
        code = _make_all(changes, args)
        if code == CANNOT:
            return code
        if test and code == 0 and not _prove_all(changes, args):
            return CANNOT
        if project.frameworks:
            print(
                f"Add these lines to your agent. The pages are in {PAGES} of the repository of Pausepoint."
            )
        for framework in project.frameworks:
            print(
                "\n    ".join(
                    [f"  {framework.name} ({framework.page}.md):", *framework.lines]
                )
            )
        if test and args.wait:
            print(f"Answer: {visible(answer_text(desk.wait(test)))}")
        return code


def _changes(
    args: argparse.Namespace, project: projects.Found, address: str = ""
) -> dict[Agent, Change] | None:
    """Return the change of each agent's settings, or print a message and return None if some cannot be changed."""
    chosen = [AGENTS[name] for name in args.agent] or list(project.agents)
    if not chosen:
        print(f"No coding agent was found. Name it: --agent {', '.join(AGENTS)}.")
    changes = {}
    for agent in chosen:
        file = _file(SETUPS[agent], args)
        try:
            changes[agent] = _change(agent, args, address)
        except (CannotChange, OSError, UnicodeDecodeError) as error:
            print(
                f"{visible(str(file))} is left as it is, because {visible(str(error))}",
                file=sys.stderr,
            )
            print(
                f"Correct it and try again, or edit it by hand: see {PAGES}{agent.name}.md.",
                file=sys.stderr,
            )
            return None
    return changes


def _file(setup: Setup, args: argparse.Namespace) -> Path:
    if setup.in_project and not args.user:
        return Path(args.project, setup.in_project).absolute()
    return setup.file().absolute()


def _change(agent: Agent, args: argparse.Namespace, address: str) -> Change:
    """Return the change of an agent's settings. Raise CannotChange if hooks in them would stop nothing."""
    setup = SETUPS[agent]
    file = _file(setup, args)
    of_project = setup.in_project and not args.user
    # A user's own link, as in a dotfiles folder, is followed. A project may come from anyone.
    place = inside(args.project, file) if of_project else followed(file)
    before = read(place)
    if args.remove:
        return Change(place, before, setup.remove(before))
    command = _command_for(args.project) if of_project else _command()
    more = {"defer": True} if args.defer and agent is CLAUDE_CODE else {}
    text = setup.add(before, f"{command} --url {shlex.quote(address)}", **more)
    agents.check(agent, args.project)
    return Change(place, before, text)


def _command() -> str:
    """Return this command for a shell on this machine, in any directory."""
    itself = Path(sys.argv[0])
    program = (
        str(itself.resolve())
        if itself.name == "pausepoint"
        else shutil.which("pausepoint")
    )
    return shlex.quote(program or "pausepoint")


def _command_for(project: Path) -> str:
    """Return this command for settings that may be shared with other machines."""
    program = Path(shutil.which("pausepoint") or sys.argv[0]).absolute()
    if program.is_relative_to(project.absolute()):
        return f'"$CLAUDE_PROJECT_DIR"/{shlex.quote(program.relative_to(project.absolute()).as_posix())}'
    return "pausepoint" if shutil.which("pausepoint") else _command()


def _prove_all(changes: dict[Agent, Change], args: argparse.Namespace) -> bool:
    """Let each hook run once by itself, and print the outcome; return whether all of them block."""
    for agent in changes:
        try:
            print(
                f"{agent.title}, tested: {prove(agent, args.url, args.key, args.project)}"
            )
        except (NotProven, OSError, ValueError, subprocess.SubprocessError) as error:
            reason = visible(str(error))
            print(f"{agent.title}: the hook does not work. {reason}", file=sys.stderr)
            return False
    return True


def _make_all(changes: dict[Agent, Change], args: argparse.Namespace) -> int:
    code = 0
    for agent, change in changes.items():
        try:
            if not _make(agent, change, args):
                code = 1
        except (ChangedMeanwhile, CannotChange, OSError, UnicodeDecodeError) as error:
            reason = (
                "was changed meanwhile and"
                if isinstance(error, ChangedMeanwhile)
                else f"({visible(str(error))})"
            )
            print(
                f"{visible(str(change.file))} {reason} is left as it is. Run the command again.",
                file=sys.stderr,
            )
            return CANNOT
    return code


def _make(agent: Agent, change: Change, args: argparse.Namespace) -> bool:
    """Show a change and make it if confirmed; return whether the settings are up to date."""
    file = visible(str(change.file))
    if change.text == change.before:
        print(f"{agent.title}: nothing to change in {file}")
        return True
    print(f"{agent.title}:\n{change.diff}")
    if not args.yes and not _agrees(f"Write {file}?"):
        print("Nothing was written.")
        return False
    change.make()
    print(f"{agent.title}: {'written' if change.text else 'removed'}.")
    if not args.remove:
        print(SETUPS[agent].then)
    return True


def _agrees(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        print()
        return False


def _test_request(desk: Desk) -> str:
    """Ask a question that proves the address and the key; return its id."""
    # The response is the stored request; reading it again would need one more scope of the key.
    request = desk.ask(
        "Is Pausepoint connected?",
        options=["Yes", "No"],
        timeout=timedelta(hours=1),
        agent="pausepoint connect",
    )
    print(f"A test request waits in the Inbox for an hour: {visible(request['url'])}")
    return str(request["id"])
