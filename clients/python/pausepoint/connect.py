"""`pausepoint connect`: find coding agents and frameworks, show the change of their settings, write it on yes, and try it."""

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
from pathlib import Path

from pausepoint import connect_projects, connect_settings
from pausepoint.calls import answer_text
from pausepoint.connect_settings import KEY, CannotChange
from pausepoint.desk import Desk

#: Where the pages of the documentation are, in the repository.
PAGES = "docs/how-to/"
TRUST = """Codex does not run a new hook before you have trusted it, and runs commands unasked until then. Start `codex`, enter
/hooks and trust the hook of Pausepoint; the same again after each change of it.
In CI: codex exec --dangerously-bypass-hook-trust."""


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
    command.add_argument("--remove", action="store_true", help="undo: take our hooks out again")
    command.add_argument("--no-test", action="store_true", help="do not make a test request")
    command.add_argument("--wait", action="store_true", help="wait until somebody has answered the test request")


def run(given: argparse.Namespace) -> int:
    """Connect a project. Returns 0 if everything is as it should be, 1 if a change was not wanted."""
    # Checked before anything is shown, because the settings hold the address.
    desk = None if given.remove else Desk(given.url, given.key, patience=10)
    found = connect_projects.search(given.project)
    agents = given.agent or [name for name, there in _agents(found) if there]
    address = "" if desk is None else desk.base.removesuffix("/api/v1")
    wanted = True
    for name in agents:
        try:
            wanted = _make(_change(name, given, address), given) and wanted
        except (CannotChange, OSError, UnicodeDecodeError) as error:
            print(f"{name}: the settings are left as they are, because {error}", file=sys.stderr)
            return 2
    if not agents:
        print("No coding agent was found. Name it: --agent claude-code, or --agent codex.")
    if desk is None:
        return 0 if wanted else 1
    for framework in found.frameworks:
        line = f": {framework.line}" if framework.line else ""
        print(f"{framework.name}{line}\n  {PAGES}{framework.page}.md")
    with desk:
        return (0 if wanted else 1) if given.no_test else _try(desk, given, wanted)


def _agents(found: connect_projects.Found) -> Iterator[tuple[str, bool]]:
    yield "claude-code", found.claude_code
    yield "codex", found.codex


def _change(name: str, given: argparse.Namespace, address: str) -> Change:
    if name == "codex":
        file = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"
        command = shlex.join([_command(), "--url", address])
        return _changed(
            "Codex",
            file,
            connect_settings.codex_config_without
            if given.remove
            else lambda text: connect_settings.codex_config(text, command),
        )
    file = (Path.home() if given.user else given.project) / ".claude" / "settings.json"
    return _changed(
        "Claude Code",
        file,
        connect_settings.claude_settings_without
        if given.remove
        else lambda text: connect_settings.claude_settings(text, address, defer=given.defer),
    )


def _changed(agent: str, file: Path, change: Callable[[str], str]) -> Change:
    # Settings that are a link, as in a folder of dotfiles, stay one.
    file = file.resolve()
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    return Change(agent, file, before, change(before))


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


def _try(desk: Desk, given: argparse.Namespace, wanted: bool) -> int:
    """Ask a question and show that it has arrived."""
    # The answer is the request as Pausepoint has stored it; reading it again would need one more scope of the key.
    arrived = desk.ask("Is Pausepoint connected?", options=["Yes", "No"], agent="pausepoint connect")
    print(f"A test request has arrived and is {arrived['status']}: {arrived['url']}")
    if given.wait:
        print(f"Answer: {answer_text(desk.wait(arrived['id']))}")
    return 0 if wanted else 1
