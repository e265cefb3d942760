"""The arguments that each model accepts by the API's documentation of November 2026; independent of the product's own table."""

from __future__ import annotations

import re
from dataclasses import dataclass

ALL = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """`thinking` are the types that may be asked for; `cached` is the shortest prefix, in tokens, that is cached."""

    thinking: tuple[str, ...] = ("adaptive",)
    temperature: bool = False
    effort: tuple[str, ...] = ALL
    forced_tools: bool = False
    compaction: bool = True
    cached: int = 512
    window: int = 1_000_000


NEWEST = Rules()
KNOWN = {
    "claude-fable-5-2": NEWEST,
    "claude-opus-5-5": NEWEST,
    "claude-sonnet-5-5": Rules(thinking=("adaptive", "between_tools")),
    "claude-haiku-5-5": Rules(thinking=("adaptive", "disabled")),
    "claude-sonnet-5": Rules(thinking=("adaptive", "disabled"), forced_tools=True, cached=1024),
    "claude-opus-4-8": Rules(thinking=("adaptive", "disabled"), forced_tools=True, cached=1024),
    "claude-sonnet-4-6": Rules(
        thinking=("adaptive", "enabled", "disabled"),
        temperature=True,
        effort=("low", "medium", "high", "max"),
        forced_tools=True,
        cached=1024,
    ),
    "claude-haiku-4-5": Rules(
        thinking=("enabled", "disabled"),
        temperature=True,
        effort=(),
        forced_tools=True,
        compaction=False,
        cached=4096,
        window=200_000,
    ),
}


def rules_of(model: str) -> Rules:
    """The rules of a model, dated or not."""
    return KNOWN.get(re.sub(r"-\d{8}$", "", model), NEWEST)
