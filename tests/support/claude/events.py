"""Blocks of an answer as the API streams them."""

from __future__ import annotations

import json
from typing import Any

Block = dict[str, Any]
SseEvent = dict[str, Any]


def block_events(index: int, block: Block, size: int = 7) -> list[SseEvent]:
    """A block as the API streams it: its start, deltas of `size` characters, its stop."""
    empty: Block = dict(block)
    deltas: list[dict[str, Any]] = []
    match block["type"]:
        case "text":
            empty["text"] = ""
            deltas = [{"type": "text_delta", "text": part} for part in _parts(block["text"], size)]
        case "thinking":
            empty |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": part} for part in _parts(block["thinking"], size)]
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "compaction":
            empty["content"] = None
            deltas = [{"type": "compaction_delta", "content": block["content"]}]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            empty["input"] = {}
            written = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *_parts(written, size)]]
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _parts(words: str, size: int) -> list[str]:
    return [words[start : start + size] for start in range(0, len(words), size)]
