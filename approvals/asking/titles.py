"""Make titles from a text or a tool, such as those of AgentForge's `ask-human`."""

from __future__ import annotations

from pathlib import PurePath

from django.utils.translation import gettext as _

from approvals.asking.tool_calls import Command, Edit, Fetch, Replacement, recognize
from approvals.json_types import JsonMapping

MAX_TITLE = 200


def title_and_message(text: str) -> tuple[str, str]:
    """Return a title of at most MAX_TITLE characters, and the whole text as message unless the title contains all of it."""
    first_line = text.strip().splitlines()[0] if text.strip() else "Question"
    if first_line == text.strip() and len(first_line) <= MAX_TITLE:
        return first_line, ""
    return _cut(first_line), text


def _cut(title: str) -> str:
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1] + "…"


def title_of_call(tool: str, arguments: JsonMapping, directory: str) -> str:
    """Return the title of a call that has none of its agent; `directory` is that of the agent."""
    return _cut(_words_of_call(tool, arguments, directory))


def _words_of_call(tool: str, arguments: JsonMapping, directory: str) -> str:
    match recognize(tool, arguments):
        case Command(directory=own) if folder := PurePath(own or directory).name:
            return _("Run a command in %(folder)s?") % {"folder": folder}
        case Command():
            return _("Run a command?")
        case Edit(file=file, replacements=[Replacement(before=None)]):
            return _("Write %(file)s?") % {"file": PurePath(file).name or file}
        case Edit(file=file) if file:
            return _("Edit %(file)s?") % {"file": PurePath(file).name or file}
        case Edit():
            return _("Apply a patch?")
        case Fetch(parts=(_scheme, host, _path)) if host:
            return _("Fetch from %(host)s?") % {"host": host}
    return _("Run %(tool)s?") % {"tool": tool}


def translated_title(title: str, tool_name: str) -> str:
    """Return the default title of clients and of MCP in the language of the reader; any other title as it is."""
    if not tool_name or title != f"Run {tool_name}?":
        return title
    return _("Run %(tool)s?") % {"tool": tool_name}


def is_made(title: str, tool_name: str) -> bool:
    """Return whether a title only repeats the tool's name, like the default titles of clients and of MCP."""
    return bool(tool_name) and title in (tool_name, f"Run {tool_name}?")
