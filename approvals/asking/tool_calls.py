"""Recognize tool calls that run a command, edit a file or fetch an address, by name and form of the input. Pure.

Covers Claude Code, Codex, and the shell, editor and browser tools of common frameworks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals.json_types import JsonMapping

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
        "apply_diff",
        "git_apply",
        "patch",
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
#: Members of an input that hold a file, a directory and the texts of an edit.
_FILES = ("file_path", "path")
_DIRECTORIES = ("cwd", "workdir", "working_directory", "directory", "dir_path")
_TEXTS = (("old_string", "new_string"), ("old_str", "new_str"))
_CONTENTS = ("content", "contents", "file_text")
#: Operations of OpenAI's `apply_patch` tool, in the words of a patch.
_ACTIONS = {"update_file": "Update", "create_file": "Add", "delete_file": "Delete"}
_OPERATION = frozenset({"type", "path", "diff"})
#: Schemes of addresses with an unambiguous host.
_SCHEMES = frozenset({"http", "https", "ws", "wss", "ftp"})


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command. `member` is its member of the input; `directory` is the working directory, if given."""

    member: str
    text: str
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A replacement of one text by another; `before` is None if the whole file is written."""

    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of files. `members` are those of the input that describe it fully; `patch` is a complete patch text.

    `operations` are those of an `apply_patch` tool: action, file and hunks of each.
    """

    members: frozenset[str]
    file: str = ""
    replacements: Sequence[Replacement] = ()
    patch: str = ""
    operations: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class Fetch:
    """A fetch of an address."""

    member: str
    address: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """The address in three parts; the second is its host and port. If the host is uncertain, the first is all of it."""
        scheme, _slashes, rest = self.address.partition("://")
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        # Browsers read a backslash as a slash, and drop white space. If a scheme is missing or unknown, tools prepend one, which
        # changes the host.
        if (
            scheme.lower() not in _SCHEMES
            or not authority
            or re.search(r"[\\\s]", self.address)
        ):
            return self.address, "", ""
        # User name and password precede the host and may look like one.
        start = len(scheme) + len("://") + authority.rfind("@") + 1
        end = len(scheme) + len("://") + len(authority)
        return self.address[:start], self.address[start:end], self.address[end:]


def recognize(tool: str, arguments: JsonMapping) -> Command | Edit | Fetch | None:
    """Return the recognized call; None for an unknown name or form of input."""
    name = re.split(r"__|[.:/]", tool.lower())[-1]
    if name in EDITS and (edit := _edit(arguments)):
        return edit
    if name in COMMANDS or name in FETCHES:
        members = (
            ("command", "cmd", "script")
            if name in COMMANDS
            else ("url", "uri", "address")
        )
        member, text = _first(arguments, members)
        if text:
            directory = _first(arguments, _DIRECTORIES)[1]
            return (
                Command(member, text, directory)
                if name in COMMANDS
                else Fetch(member, text)
            )
    return None


def _edit(arguments: JsonMapping) -> Edit | None:
    own = {name: arguments[name] for name in _OPERATION & arguments.keys()}
    several = arguments.get("operations")
    sent = several if isinstance(several, list) else [own]
    operations = [_operation(each) for each in sent]
    if operations and None not in operations:
        members = {"operations"} if sent is several else own.keys()
        return Edit(
            frozenset(members), operations=[each for each in operations if each]
        )
    member, patch = _first(arguments, ("patch", "input", "command", "diff"))
    if _PATCH.match(patch):
        return Edit(frozenset({member}), patch=patch)
    path, file = _first(arguments, _FILES)
    if not file:
        return None
    if isinstance(edits := arguments.get("edits"), list) and edits:
        replacements = [_replacement(edit) for edit in edits]
        whole = [replacement for replacement in replacements if replacement is not None]
        return (
            Edit(frozenset({path, "edits"}), file, whole)
            if len(whole) == len(replacements)
            else None
        )
    if replacement := _replacement(arguments, more=frozenset(arguments)):
        names = next(pair for pair in _TEXTS if pair[0] in arguments)
        return Edit(frozenset({path, *names}), file, (replacement,))
    member = next(
        (name for name in _CONTENTS if isinstance(arguments.get(name), str)), ""
    )
    return (
        Edit(frozenset({path, member}), file, (Replacement(None, arguments[member]),))
        if member
        else None
    )


def _operation(operation: Any) -> tuple[str, str, str] | None:
    """Return action, file and hunks of an operation; None if it has other members, which a diff would leave out."""
    if not isinstance(operation, dict) or not operation.keys() <= _OPERATION:
        return None
    action = _ACTIONS.get(str(operation.get("type")))
    path = operation.get("path")
    hunks = operation.get("diff") or ""
    if not (action and isinstance(path, str) and path and isinstance(hunks, str)):
        return None
    return action, path, hunks


def _replacement(edit: Any, more: frozenset[str] = frozenset()) -> Replacement | None:
    """Return the two texts of an edit; None if it has members besides those and `more`, which a diff would leave out."""
    if not isinstance(edit, dict):
        return None
    if edit.get("replace_all") is False:
        more |= {"replace_all"}
    for before, after in _TEXTS:
        old = edit.get(before)
        new = edit.get(after)
        if (
            isinstance(old, str)
            and isinstance(new, str)
            and edit.keys() <= {before, after, *more}
        ):
            return Replacement(old, new)
    return None


def _first(arguments: JsonMapping, names: Sequence[str]) -> tuple[str, str]:
    """Return the first of these members that holds text, and its text; both empty if there is none."""
    for name in names:
        if isinstance(text := arguments.get(name), str) and text.strip():
            return name, text
    return "", ""
