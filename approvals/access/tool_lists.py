"""The tool lists of a key: which calls of a coding agent need a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from approvals.exceptions import Invalid
from approvals.policy.globs import Glob
from approvals.text.names import fold
from approvals.text.text import visible

MAX_PATTERNS = 100
MAX_PATTERN = 100
#: A pattern is the name of a tool, where `*` stands for any text.
PATTERN = re.compile(r"[\x21-\x7e]+", re.ASCII)

#: Tools that only read, or only start sub-agents, whose own calls arrive one by one. Tools that send data out, such as WebFetch
#: or an MCP server's address, or that may run commands, such as Skill, are not included.
READING = (
    "Agent",
    "BashOutput",
    "EnterPlanMode",
    "Glob",
    "Grep",
    "LS",
    "ListMcpResourcesTool",
    "NotebookRead",
    "Read",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "update_plan",
    "view_image",
)


#: The tools of Pausepoint itself, under the server name of our guides. They only ask people or report to Pausepoint. But any
#: server can take this name, so only a list that spells out one of these tools allows it.
ASKING = frozenset(
    f"mcp__desk__{name}"
    for name in (
        "ask_human",
        "check_request",
        "permission",
        "report_result",
        "request_approval",
    )
)


class Ruling(StrEnum):
    """The ruling of the lists on a tool."""

    GATED = "gated"
    ALLOWED = "allowed"
    DENIED = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLists:
    """Patterns of tool names, for calls that need a person, calls left to the agent, and denied calls."""

    gated: Sequence[str] = ("*",)
    allowed: Sequence[str] = READING
    denied: Sequence[str] = ()

    def ruling(self, tool: str) -> tuple[Ruling, str]:
        """Return the ruling on a tool, and the pattern behind it.

        A denied tool stays denied. Of the other patterns, the one with the most characters besides `*` counts; on a tie, gated
        wins. A tool in no list is left to the agent.
        """
        if denied := _closest(self.denied, tool):
            return Ruling.DENIED, denied
        gated = _closest(self.gated, tool)
        allowed = _closest(self.allowed, tool)
        if gated and _weight(gated) >= _weight(allowed):
            return Ruling.GATED, gated
        return Ruling.ALLOWED, allowed

    def document(self) -> dict[str, list[str]]:
        """Return the lists in their stored and recorded form."""
        return {name: list(patterns) for name, patterns in asdict(self).items()}

    def check(self) -> None:
        """Raise Invalid, naming every list that is out of bounds."""
        errors = {
            name: error
            for name, patterns in asdict(self).items()
            if (error := problem(patterns))
        }
        if errors:
            raise Invalid(_("The lists of tools are invalid."), errors)


DEFAULT = ToolLists()


def lists_from(stored: Mapping[str, Any] | None) -> ToolLists:
    """Return the lists of a key, or the default if it has none."""
    return (
        DEFAULT
        if stored is None
        else ToolLists(**{name: tuple(stored[name]) for name in DEFAULT.document()})
    )


def problem(patterns: Sequence[str]) -> str:
    """Return the problem with a list; empty if there is none."""
    if len(patterns) > MAX_PATTERNS:
        return _("has more than %(limit)s lines") % {"limit": MAX_PATTERNS}
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN or not PATTERN.fullmatch(pattern):
            message = _(
                "has “%(pattern)s”, but a line must be 1 to %(limit)s ASCII characters without spaces"
            )
            return message % {"pattern": visible(pattern[:60]), "limit": MAX_PATTERN}
    return ""


def matches(pattern: str, tool: str) -> bool:
    """Return whether a pattern matches the whole canonical name of a tool; `*` is any text."""
    return Glob(fold(pattern)).fits(fold(tool))


def _closest(patterns: Iterable[str], tool: str) -> str:
    return max(
        (pattern for pattern in patterns if matches(pattern, tool)),
        key=_weight,
        default="",
    )


def _weight(pattern: str) -> int:
    """Return how many characters of a name a pattern spells out; negative for no pattern."""
    return len(pattern.replace("*", "")) if pattern else -1
