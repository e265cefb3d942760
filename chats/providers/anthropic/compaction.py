"""Keep long chats within the model's window: the API summarizes old messages, or clears old tool results. Pure.

A summary is a block of the answer before which it was made. It is stored with its step and sent back there, and the API ignores
everything before it (https://platform.claude.com/docs/en/build-with-claude/compaction). For models without it, the oldest tool
results are cleared (https://platform.claude.com/docs/en/build-with-claude/context-editing).
"""

from __future__ import annotations

from typing import Any

from chats.providers.anthropic.history import SUMMARY, RequestMessages
from chats.providers.anthropic.models import Takes

#: The part of the window at which the API begins, and the minimum number of tokens.
SHARE = 0.7
FEWEST = 50_000
#: Estimated bytes per token, at the low end.
BYTES = 3


def context_management(
    history: RequestMessages, takes: Takes
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments for shortening the history, if it is long or already has a summary, and the beta feature."""
    begins = max(int(takes.window * SHARE), FEWEST)
    has_summary = any(
        block["type"] == SUMMARY
        for message in history.messages
        for block in message["content"]
    )
    if not has_summary and history.size // BYTES < begins // 2:
        return {}, []
    kind, beta = (
        ("compact_20260112", "compact-2026-01-12")
        if takes.compaction
        else ("clear_tool_uses_20250919", "context-management-2025-06-27")
    )
    edit = {"type": kind, "trigger": {"type": "input_tokens", "value": begins}}
    return {"context_management": {"edits": [edit]}}, [beta]
