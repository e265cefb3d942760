"""Recognize what a tool call does by its name and the shape of its input: run a command, edit a file, fetch an address. Pure.

The names are those of Claude Code, Codex, and the shell, editor and browser tools of common frameworks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COMMANDS = frozenset(
    [
        "bash",
        "shell",
        "sh",
        "zsh",
        "terminal",
        "exec",
        "execute",
        "exec_command",
        "shell_command",
        "local_shell",
        "powershell",
        "run_command",
        "run_shell_command",
        "run_terminal_cmd",
        "execute_command",
        "execute_bash",
    ]
)
EDITS = frozenset(
    [
        "edit",
        "multiedit",
        "write",
        "apply_patch",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "text_editor",
        "create_file",
        "write_file",
        "edit_file",
    ]
)
FETCHES = frozenset(
    [
        "webfetch",
        "web_fetch",
        "fetch",
        "fetch_url",
        "open_url",
        "browse",
        "browser_navigate",
        "navigate",
        "http_get",
        "http_request",
        "download",
    ]
)
_PATCH = re.compile(r"\s*(?:\*\*\* Begin Patch|diff --git |--- )")
#: The members of an input in which a file, a directory and the texts of an edit are named.
_FILES = ("file_path", "path")
_DIRECTORIES = ("cwd", "workdir", "working_directory", "directory")
_TEXTS = (("old_string", "new_string"), ("old_str", "new_str"))
_CONTENTS = ("content", "contents", "file_text")
#: The schemes of addresses whose host is certain.
_SCHEMES = frozenset({"http", "https", "ws", "wss", "ftp"})


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command; `member` is the member of the input that holds it, `directory` where it runs, if the input says so."""

    member: str
    text: str
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text that replaces another; `before` is None if the whole file is written."""

    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file. `members` are those of the input that say all of it; `patch` is a whole patch of its own."""

    members: frozenset[str]
    file: str = ""
    replacements: Sequence[Replacement] = ()
    patch: str = ""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A call of an address."""

    member: str
    address: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """The address in three parts, of which the second is its host and port; all of it is the first if that is not certain."""
        scheme, _slashes, rest = self.address.partition("://")
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        # Browsers take a backslash for a slash, and drop white space. Where a scheme is missing or unknown, tools put one
        # before it, so that the host is another one.
        if scheme.lower() not in _SCHEMES or not authority or re.search(r"[\\\s]", self.address):
            return self.address, "", ""
        # User name and password come before the host and may look like one.
        start = len(scheme) + len("://") + authority.rfind("@") + 1
        end = len(scheme) + len("://") + len(authority)
        return self.address[:start], self.address[start:end], self.address[end:]


def recognize(tool: str, arguments: Mapping[str, Any]) -> Command | Edit | Fetch | None:
    """Return what a call does; None if its name or its input is another."""
    name = re.split(r"__|[.:/]", tool.lower())[-1]
    if name in EDITS and (edit := _edit(arguments)):
        return edit
    if name in COMMANDS or name in FETCHES:
        members = ("command", "cmd", "script") if name in COMMANDS else ("url", "uri", "address")
        member, text = _first(arguments, members)
        if text:
            directory = _first(arguments, _DIRECTORIES)[1]
            return Command(member, text, directory) if name in COMMANDS else Fetch(member, text)
    return None


def _edit(arguments: Mapping[str, Any]) -> Edit | None:
    member, patch = _first(arguments, ("patch", "input", "command", "diff"))
    if _PATCH.match(patch):
        return Edit(frozenset({member}), patch=patch)
    path, file = _first(arguments, _FILES)
    if not file:
        return None
    if isinstance(edits := arguments.get("edits"), list) and edits:
        replacements = [_replacement(edit) for edit in edits]
        whole = [replacement for replacement in replacements if replacement is not None]
        return Edit(frozenset({path, "edits"}), file, whole) if len(whole) == len(replacements) else None
    if replacement := _replacement(arguments, more=frozenset(arguments)):
        names = next(pair for pair in _TEXTS if pair[0] in arguments)
        return Edit(frozenset({path, *names}), file, (replacement,))
    member = next((name for name in _CONTENTS if isinstance(arguments.get(name), str)), "")
    return Edit(frozenset({path, member}), file, (Replacement(None, arguments[member]),)) if member else None


def _replacement(edit: Any, more: frozenset[str] = frozenset()) -> Replacement | None:
    """Return the two texts of an edit; None if it has other members than those and `more`, which a diff would leave out."""
    if not isinstance(edit, dict):
        return None
    if edit.get("replace_all") is False:
        more |= {"replace_all"}
    for before, after in _TEXTS:
        old, new = edit.get(before), edit.get(after)
        if isinstance(old, str) and isinstance(new, str) and edit.keys() <= {before, after, *more}:
            return Replacement(old, new)
    return None


def _first(arguments: Mapping[str, Any], names: Sequence[str]) -> tuple[str, str]:
    """Return the first of these members that holds text, and that text; both empty if there is none."""
    for name in names:
        if isinstance(text := arguments.get(name), str) and text.strip():
            return name, text
    return "", ""
