"""The prompt cache's own accounting: the tokens that a request reads from it, writes to it, and pays in full."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.claude.models import rules_of
from tests.support.claude.thoughts import THOUGHTS, plain

Body = Mapping[str, Any]

#: A breakpoint finds an entry at most so many blocks before it, itself included.
LOOKBACK = 20
LIFETIME, LONG_LIFETIME = 300.0, 3600.0
MARKS = 4


def tokens(text: str) -> int:
    return len(text) // 4 + 1


def objections(body: Body) -> Iterator[str]:
    marked = [block for block in prompt_blocks(body) if "cache_control" in block]
    if len(marked) > MARKS:
        yield f"A maximum of {MARKS} blocks with cache_control may be provided. Found {len(marked)}."
    for block in marked:
        if block.get("type") in THOUGHTS:
            yield f"cache_control cannot be set for {block['type']} blocks"
        if block.get("type") == "text" and not block["text"]:
            yield "cache_control cannot be set for empty text blocks"


def prompt_blocks(body: Body) -> Iterator[Mapping[str, Any]]:
    """All blocks in the order of the prompt. Deferred tools are none of it."""
    yield from (tool for tool in body.get("tools", []) if not tool.get("defer_loading"))
    yield from body.get("system", [])
    for message in body["messages"]:
        yield from message["content"]


class PromptCache:
    """The entries of one account. `now` is a clock in seconds that the test may set."""

    def __init__(self) -> None:
        self.now = 0.0
        self._entries: dict[tuple[str, str], float] = {}
        self._long: set[tuple[str, str]] = set()

    def charge(self, body: Body) -> dict[str, int]:
        """Account for a request; gives its input in `usage`."""
        positions = list(self._positions(body))
        read = max(
            (self._found(positions[: last + 1]) for last, (*_, marked) in enumerate(positions) if marked), default=0
        )
        minimum, behind = rules_of(body["model"]).cached, read
        for key, total, marked in positions:
            if marked and total >= minimum:
                self._entries[key] = self.now
                if marked == "1h":
                    self._long.add(key)
                behind = max(behind, total)
        return {
            "input_tokens": (positions[-1][1] if positions else 0) - behind,
            "cache_creation_input_tokens": behind - read,
            "cache_read_input_tokens": read,
        }

    def _positions(self, body: Body) -> Iterator[tuple[tuple[str, str], int, str]]:
        """Behind each block: the key of the prompt so far, its tokens, and whether it is marked."""
        so_far, total = hashlib.sha256(), 0
        for block in prompt_blocks(body):
            so_far.update(plain(block).encode())
            total += tokens(plain(block))
            mark = block.get("cache_control")
            yield (body["model"], so_far.hexdigest()), total, mark.get("ttl", "5m") if mark else ""

    def _found(self, positions: list[tuple[tuple[str, str], int, str]]) -> int:
        """The tokens of the longest entry that the last of these positions finds; its life begins anew."""
        for key, total, _ in reversed(positions[-LOOKBACK:]):
            lifetime = LONG_LIFETIME if key in self._long else LIFETIME
            if key in self._entries and self.now - self._entries[key] < lifetime:
                self._entries[key] = self.now
                return total
        return 0
