"""How a chat outlives its model's window: the API replaces what is long ago by a summary, or clears old results of tools. Pure.

A summary is a block of the answer before which it was made. It is stored with its step and sent back there, and the API ignores
all that is before it (https://platform.claude.com/docs/en/build-with-claude/compaction). Models that cannot do that forget the
oldest results of tools (https://platform.claude.com/docs/en/build-with-claude/context-editing).
"""

from __future__ import annotations

from typing import Any

from chats.providers.anthropic.history import SUMMARY, History
from chats.providers.anthropic.models import Takes

#: The part of the window at which the API begins, and the fewest tokens at which it may.
SHARE, FEWEST = 0.7, 50_000
#: A token has at least about so many bytes.
BYTES = 3


def context_management(history: History, takes: Takes) -> tuple[dict[str, Any], list[str]]:
    """Return what asks for a shorter history, if this one is long or has a summary already, and the beta feature."""
    begins = max(int(takes.window * SHARE), FEWEST)
    has_summary = any(block["type"] == SUMMARY for message in history.messages for block in message["content"])
    if not has_summary and history.size // BYTES < begins // 2:
        return {}, []
    kind, beta = (
        ("compact_20260112", "compact-2026-01-12")
        if takes.compaction
        else ("clear_tool_uses_20250919", "context-management-2025-06-27")
    )
    edit = {"type": kind, "trigger": {"type": "input_tokens", "value": begins}}
    return {"context_management": {"edits": [edit]}}, [beta]
