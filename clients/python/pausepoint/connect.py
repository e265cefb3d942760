"""`pausepoint connect`: try the address and the key, find coding agents, show the change of their settings, write it on yes."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pausepoint import connect_projects, connect_settings
from pausepoint.calls import answer_text
from pausepoint.connect_settings import KEY, CannotChange
from pausepoint.desk import Desk

#: Where the pages of the documentation are, in the repository.
PAGES = "docs/how-to/"
#: Exit code if settings cannot be changed.
CANNOT = 2
TRUST = """Codex does not run a new hook before you have trusted it, and runs commands unasked until then. Start `codex`, enter
/hooks and trust the hook of Pausepoint; the same again after each change of it.
In CI: codex exec --dangerously-bypass-hook-trust."""


class ChangedMeanwhile(Exception):
    """The file is no longer as it was when the change was shown."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file of settings and what becomes of it; `text` is empty if the file goes."""

    agent: str
    file: Path
    before: str
    text: str

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            self.before.splitlines(), self.text.splitlines(), str(self.file), str(self.file), lineterm=""
        )
        return "\n".join(lines)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--project", type=Path, default=Path(), metavar="DIR", help="the project (default: this folder)"
    )
    command.add_argument(
        "--agent",
        action="append",
        choices=("claude-code", "codex"),
        default=[],
        help="only this one (default: those that are found)",
    )
    command.add_argument("--user", action="store_true", help="Claude Code: your own settings, not those of the project")
    command.add_argument("--defer", action="store_true", help="Claude Code: end instead of waiting; resume it later")
    command.add_argument("--yes", action="store_true", help="write without asking")
    command.add_argument("--remove", action="store_true", help="undo: remove the hooks of Pausepoint")
    command.add_argument("--no-test", action="store_true", help="do not make a test request")
    command.add_argument("--wait", action="store_true", help="wait until somebody has answered the test request")


def run(given: argparse.Namespace) -> int:
    """Connect a project. Returns 0 if everything is as it should be, 1 if a change was not wanted."""
    if not given.project.is_dir():
        raise ValueError(f"There is no folder {given.project}.")
    if given.remove:
        return _edit(given, connect_projects.search(given.project))
    with Desk(given.url, given.key, patience=10) as desk:
        # Before anything is written, because hooks with a wrong address or key block every call.
        test = None if given.no_test else _test_request(desk)
        found = connect_projects.search(given.project)
        code = _edit(given, found, desk.base.removesuffix("/api/v1"))
        if code != CANNOT and found.frameworks:
            print(f"Add these lines to your agent. The pages are in {PAGES} of the repository of Pausepoint.")
            for framework in found.frameworks:
                print(f"  {framework.name}: {framework.line} ({framework.page}.md)")
        if code != CANNOT and test and given.wait:
            print(f"Answer: {answer_text(desk.wait(test))}")
        return code


def _edit(given: argparse.Namespace, found: connect_projects.Found, address: str = "") -> int:
    """Change the settings of the agents, and return the exit code."""
    agents = given.agent or [name for name, there in _agents(found) if there]
    if not agents:
        print("No coding agent was found. Name it: --agent claude-code, or --agent codex.")
    code = 0
    for name in agents:
        file = _file(name, given)
        try:
            if not _make(_change(name, file, given, address), given):
                code = 1
        except ChangedMeanwhile:
            print(f"{file} was changed meanwhile and is left as it is. Run the command again.", file=sys.stderr)
            return CANNOT
        except (CannotChange, OSError, UnicodeDecodeError) as error:
            print(f"{file} is left as it is, because {error}", file=sys.stderr)
            print(f"Correct it and try again, or edit it by hand: see {PAGES}{name}.md.", file=sys.stderr)
            return CANNOT
    return code


def _agents(found: connect_projects.Found) -> Iterator[tuple[str, bool]]:
    yield "claude-code", found.claude_code
    yield "codex", found.codex


def _file(name: str, given: argparse.Namespace) -> Path:
    """Return the file of an agent's settings. If it is a link, as in a folder of dotfiles, it stays one."""
    if name == "codex":
        return (Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml").resolve()
    return ((Path.home() if given.user else given.project) / ".claude" / "settings.json").resolve()


def _change(name: str, file: Path, given: argparse.Namespace, address: str) -> Change:
    if name == "codex":
        command = shlex.join([_command(), "--url", address])
        return _changed(
            "Codex",
            file,
            connect_settings.codex_config_without
            if given.remove
            else lambda text: connect_settings.codex_config(text, command),
        )
    return _changed(
        "Claude Code",
        file,
        connect_settings.claude_settings_without
        if given.remove
        else lambda text: connect_settings.claude_settings(text, address, defer=given.defer),
    )


def _changed(agent: str, file: Path, change: Callable[[str], str]) -> Change:
    before = _read(file)
    return Change(agent, file, before, change(before))


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _command() -> str:
    """Return this command as the agent can start it, wherever it runs."""
    itself = Path(sys.argv[0])
    found = str(itself.resolve()) if itself.name == "pausepoint" else shutil.which("pausepoint")
    return found or "pausepoint"


def _make(change: Change, given: argparse.Namespace) -> bool:
    """Show a change and make it if it is wanted; return whether the settings are as they should be."""
    if change.text == change.before:
        print(f"{change.agent}: nothing to change in {change.file}")
        return True
    print(f"{change.agent}:\n{change.diff}")
    if not given.yes and not _agrees(f"Write {change.file}?"):
        print("Nothing was written.")
        return False
    # An agent may have written its settings while the question was on the screen.
    if _read(change.file) != change.before:
        raise ChangedMeanwhile
    if change.text:
        _write(change.file, change.text)
    else:
        change.file.unlink()
    print(f"{change.agent}: {'written' if change.text else 'removed'}.")
    if not given.remove:
        print(
            TRUST if change.agent == "Codex" else f"Set {KEY} where Claude Code runs: without it every call is blocked."
        )
    return True


def _agrees(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        print()
        return False


def _write(file: Path, text: str) -> None:
    """Replace a file at once, so that no agent reads half of it; it keeps its mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".pausepoint-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as new:
            new.write(text)
        os.chmod(name, mode)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _test_request(desk: Desk) -> str:
    """Ask a question that shows that the address and the key are right; return its id."""
    # The answer is the request as Pausepoint has stored it; reading it again would need one more scope of the key.
    asked = desk.ask(
        "Is Pausepoint connected?", options=["Yes", "No"], timeout=timedelta(hours=1), agent="pausepoint connect"
    )
    print(f"A test request waits in the Inbox for an hour: {asked['url']}")
    return str(asked["id"])
