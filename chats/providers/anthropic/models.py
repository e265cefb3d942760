"""Features of each Claude model: thinking, effort, temperature, forced tools, and window size.

The facts come from Anthropic's pages "Models overview", "Thinking", "Effort" and "What's new in ..." (platform.claude.com/docs,
November 2026). A model that is not listed gets the newest rules, or those in the API's list of models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from approvals.json_types import JsonMapping

EFFORTS = ("low", "medium", "high", "xhigh", "max")
FOUR_EFFORTS = ("low", "medium", "high", "max")
THREE_EFFORTS = ("low", "medium", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """The features of a model; the defaults are those of the newest models.

    `budget` is thinking with a number of tokens ("enabled"), `structured` an answer by a JSON Schema, `compaction` the summary
    of a long history by the API, `server_tools` are the tools that it can run, `typed_tools` means built-in tools and the search
    for deferred tools, and `window` is the longest prompt in tokens.
    """

    adaptive: bool = True
    budget: bool = False
    temperature: bool = False
    efforts: tuple[str, ...] = EFFORTS
    forced_tools: bool = False
    structured: bool = True
    compaction: bool = True
    server_tools: tuple[str, ...] = ("web_search", "web_fetch", "code_execution")
    typed_tools: bool = True
    window: int = 1_000_000

    @property
    def thinks(self) -> bool:
        return self.adaptive or self.budget


NEWEST = Takes()
FIVE = Takes(forced_tools=True)
FOUR_SIX = Takes(budget=True, temperature=True, efforts=FOUR_EFFORTS, forced_tools=True)
FOUR_FIVE = Takes(
    adaptive=False,
    budget=True,
    temperature=True,
    efforts=(),
    forced_tools=True,
    compaction=False,
    window=200_000,
)
FOUR = replace(FOUR_FIVE, structured=False, server_tools=("web_search", "web_fetch"))
OLDEST = replace(FOUR, budget=False, server_tools=(), typed_tools=False)

#: By model line and version, newest first: a version gets the first entry that is not newer.
_VERSIONS: tuple[tuple[str, tuple[int, int], Takes], ...] = (
    ("fable|mythos", (5, 1), NEWEST),
    ("fable|mythos", (5, 0), FIVE),
    ("opus|sonnet|haiku", (5, 5), NEWEST),
    ("opus|sonnet|haiku", (5, 0), FIVE),
    ("opus", (4, 7), FIVE),
    ("opus|sonnet", (4, 6), FOUR_SIX),
    ("opus", (4, 5), replace(FOUR_FIVE, efforts=THREE_EFFORTS)),
    ("sonnet|haiku", (4, 5), FOUR_FIVE),
    ("opus|sonnet|haiku", (3, 7), FOUR),
    ("opus|sonnet|haiku", (3, 0), OLDEST),
)
#: Names such as claude-sonnet-4-6, claude-haiku-4-5-20251001, claude-opus-4-20250514 and claude-3-7-sonnet-latest.
_NAME = re.compile(
    r"claude-(?:(?P<line>[a-z]+)-)?(?P<major>\d)(?:-(?P<minor>\d{1,2}))?(?:-(?P<late>[a-z]+))?(?:-\d{8})?\b"
)


def known(model: str) -> Takes | None:
    """Return a model's features by its name; None if it is not listed."""
    match = _NAME.search(model)
    if match is None:
        return None
    version = (int(match["major"]), int(match["minor"] or 0))
    newest = max(listed for _, listed, _ in _VERSIONS)
    lines = (line for line in (match["line"], match["late"]) if line)
    line = next(lines, "")
    for listed_lines, listed, takes in _VERSIONS:
        if line in listed_lines.split("|") and listed <= version <= newest:
            return takes
    return None


def takes(model: str) -> Takes:
    """Return a model's features by its name; the newest ones if it is not listed."""
    return known(model) or NEWEST


def from_capabilities(info: JsonMapping) -> Takes:
    """Return a model's features from the API's list of models, which does not mention temperature or forced tools."""
    capabilities = info.get("capabilities") or {}
    types = _member(capabilities, "thinking", "types")
    effort = _member(capabilities, "effort")
    structured = _member(capabilities, "structured_outputs")
    context = _member(capabilities, "context_management")
    window = info.get("max_input_tokens")
    return Takes(
        adaptive=_supported(types, "adaptive") if types else NEWEST.adaptive,
        budget=_supported(types, "enabled"),
        efforts=tuple(name for name in EFFORTS if _supported(effort, name))
        if effort
        else NEWEST.efforts,
        structured=not structured or structured.get("supported") is True,
        compaction=_supported(context, "compact_20260112"),
        window=window if isinstance(window, int) and window > 0 else NEWEST.window,
    )


def _member(value: Any, *names: str) -> JsonMapping:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _supported(value: JsonMapping, name: str) -> bool:
    return _member(value, name).get("supported") is True
