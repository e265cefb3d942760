"""The chunks, fields and order that every AI SDK client since ai 6.0.0 accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: type: (required fields, optional fields)
FIELDS: dict[str, tuple[str, str]] = {
    "start": ("", "messageId messageMetadata"),
    "start-step": ("", ""),
    "finish-step": ("", ""),
    "abort": ("", ""),
    "text-start": ("id", "providerMetadata"),
    "text-delta": ("id delta", "providerMetadata"),
    "text-end": ("id", "providerMetadata"),
    "reasoning-start": ("id", "providerMetadata"),
    "reasoning-delta": ("id delta", "providerMetadata"),
    "reasoning-end": ("id", "providerMetadata"),
    "tool-input-start": ("toolCallId toolName", "providerExecuted dynamic title"),
    "tool-input-delta": ("toolCallId inputTextDelta", ""),
    "tool-input-available": ("toolCallId toolName input", "providerExecuted providerMetadata dynamic title"),
    "tool-input-error": ("toolCallId toolName input errorText", "providerExecuted providerMetadata dynamic title"),
    "tool-approval-request": ("approvalId toolCallId", ""),
    "tool-output-available": ("toolCallId output", "providerExecuted dynamic preliminary"),
    "tool-output-error": ("toolCallId errorText", "providerExecuted dynamic"),
    "tool-output-denied": ("toolCallId", ""),
    "source-url": ("sourceId url", "title providerMetadata"),
    "source-document": ("sourceId mediaType title", "filename providerMetadata"),
    "data-server-tool": ("data", ""),
    "data-remark": ("data", ""),
    "data-status": ("data transient", ""),
    "message-metadata": ("messageMetadata", ""),
    "finish": ("", "finishReason messageMetadata"),
    "error": ("errorText", ""),
}
FREE = {"input", "output", "messageMetadata"}
REASONS = {"stop", "length", "content-filter", "tool-calls", "error", "other"}
LAST = {"finish", "error", "abort"}


def problems(chunks: Sequence[dict[str, Any]]) -> list[str]:
    """Return everything that a strict client would refuse or show wrongly."""
    found = [problem for chunk in chunks for problem in _field_problems(chunk)]
    if not chunks or chunks[0]["type"] != "start" or not chunks[0].get("messageId"):
        found.append("does not begin with a start that names the message")
    ends = [place for place, chunk in enumerate(chunks) if chunk["type"] in LAST]
    if ends != [len(chunks) - 1]:
        found.append(f"ends at {ends} of {len(chunks)}")
    return found + _order_problems(chunks)


def _field_problems(chunk: dict[str, Any]) -> list[str]:
    kind = chunk["type"]
    if kind not in FIELDS:
        return [f"unknown type {kind}"]
    required, optional = (set(names.split()) for names in FIELDS[kind])
    fields = set(chunk) - {"type"}
    found = [f"{kind} lacks {name}" for name in required - fields]
    found += [f"{kind} has {name}" for name in fields - required - optional]
    found += [f"{kind}.{name} is null" for name in fields - FREE if chunk[name] is None]
    if kind == "finish" and chunk.get("finishReason") not in REASONS:
        found.append(f"finishReason {chunk.get('finishReason')}")
    return found


def _order_problems(chunks: Sequence[dict[str, Any]]) -> list[str]:
    found, open_parts, in_step = [], set(), False
    for chunk in chunks:
        kind, _, what = chunk["type"].partition("-")
        if chunk["type"] in {"start-step", "finish-step"}:
            found += [f"{chunk['type']} where there is one"] if in_step == (kind == "start") else []
            found += [f"{chunk['type']} with open {sorted(open_parts)}"] if open_parts else []
            in_step = kind == "start"
        elif kind in {"text", "reasoning"}:
            part = f"{kind} {chunk['id']}"
            found += [f"{chunk['type']} of {part}"] if (what == "start") == (part in open_parts) else []
            open_parts ^= {part} if what in {"start", "end"} else set()
    return (
        found + ([f"open at the end: {sorted(open_parts)}"] if open_parts else []) + (["step open"] if in_step else [])
    )
