"""Which tool calls of a coding agent wait for a person: the lists of a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from approvals.exceptions import Invalid
from approvals.policy.globs import Glob
from approvals.text.canonical_names import fold
from approvals.text.text import visible

MAX_PATTERNS, MAX_PATTERN = 100, 100
#: A pattern is the name of a tool, in which `*` stands for any text.
PATTERN = re.compile(r"[\x21-\x7e]+", re.ASCII)

#: Tools that only read, or that only start sub-agents, whose own calls arrive one by one. Those that send something out, such
#: as WebFetch or an address of an MCP server, or that may run commands, such as Skill, are not among them.
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


#: The tools of Pausepoint itself, as agents know them from a server with the name of our guides. They only ask people, or
#: tell Pausepoint something. But any server can be called so: only a list that spells one of these names out allows it.
ASKING = frozenset(
    f"mcp__desk__{name}" for name in ("ask_human", "check_request", "permission", "report_result", "request_approval")
)


class Ruling(StrEnum):
    """What the lists say about a tool."""

    GATED = "gated"
    ALLOWED = "allowed"
    DENIED = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLists:
    """Patterns of tool names: calls that a person decides, calls that are left to the agent, and calls that are refused."""

    gated: Sequence[str] = ("*",)
    allowed: Sequence[str] = READING
    denied: Sequence[str] = ()

    def ruling(self, tool: str) -> tuple[Ruling, str]:
        """Return what holds for a tool, and the pattern that says so.

        A denied tool stays denied. Of the other patterns, the one with the most characters besides `*` counts; of two that are
        equally long, the gated one. A tool that is in no list is left to the agent.
        """
        if denied := _closest(self.denied, tool):
            return Ruling.DENIED, denied
        gated, allowed = _closest(self.gated, tool), _closest(self.allowed, tool)
        if gated and _weight(gated) >= _weight(allowed):
            return Ruling.GATED, gated
        return Ruling.ALLOWED, allowed

    def document(self) -> dict[str, list[str]]:
        """Return the lists as they are stored and recorded."""
        return {name: list(patterns) for name, patterns in asdict(self).items()}

    def check(self) -> None:
        """Raise Invalid, naming every list that is out of bounds."""
        errors = {name: error for name, patterns in asdict(self).items() if (error := problem(patterns))}
        if errors:
            raise Invalid(_("The lists of tools are invalid."), errors)


DEFAULT = ToolLists()


def lists_from(stored: Mapping[str, Any] | None) -> ToolLists:
    """Return the lists that a key has, or the default if it has none."""
    return DEFAULT if stored is None else ToolLists(**{name: tuple(stored[name]) for name in DEFAULT.document()})


def problem(patterns: Sequence[str]) -> str:
    """Return what is wrong with a list; empty if nothing is."""
    if len(patterns) > MAX_PATTERNS:
        return _("has more than %(limit)s lines") % {"limit": MAX_PATTERNS}
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN or not PATTERN.fullmatch(pattern):
            message = _("has “%(pattern)s”, but a line must be 1 to %(limit)s ASCII characters without spaces")
            return message % {"pattern": visible(pattern[:60]), "limit": MAX_PATTERN}
    return ""


def matches(pattern: str, tool: str) -> bool:
    """Return whether a pattern fits the whole canonical name of a tool; `*` is any text."""
    return Glob(fold(pattern)).fits(fold(tool))


def _closest(patterns: Iterable[str], tool: str) -> str:
    return max((pattern for pattern in patterns if matches(pattern, tool)), key=_weight, default="")


def _weight(pattern: str) -> int:
    """Return how much of a name a pattern spells out; less than nothing for no pattern."""
    return len(pattern.replace("*", "")) if pattern else -1
