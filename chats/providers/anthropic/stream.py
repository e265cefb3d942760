"""Anthropic's Messages stream: events to show at once, and the content blocks exactly as returned. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from approvals.runtime.canonical import NotCanonical, clean_text, parse
from chats.agent.events import (
    Event,
    ModelFinished,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolInputDelta,
    ToolInputReady,
    ToolInputStarted,
)

USAGE = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class StreamedAnswer:
    """One answer of `model` as it arrives: `begun` with its first block, `complete` once the API has said why it ended.

    Blocks of unknown types are kept, and unknown events and deltas ignored, because the API adds new ones.
    """

    def __init__(self, model: str) -> None:
        self.begun = False
        self.stop_reason = ""
        self.model = model
        self.usage: dict[str, int] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, list[str]] = {}
        self._open: set[int] = set()

    @property
    def complete(self) -> bool:
        return bool(self.stop_reason)

    def take(self, raw: dict[str, Any]) -> Iterator[Event]:
        """Take one raw event; yield what it gives to show."""
        match raw:
            case {"type": "message_start", "message": {"usage": usage}}:
                self._count(usage)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                yield from self._start(index, dict(block))
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)} if index in self._open:
                yield from self._delta(index, delta)
            case {"type": "content_block_stop", "index": int(index)} if index in self._open:
                yield from self._stop(index)
            case {"type": "message_delta", "delta": dict(delta)}:
                self.stop_reason = delta.get("stop_reason") or self.stop_reason
                self._count(raw.get("usage"))
                for index in sorted(self._open) if self.complete else ():
                    yield from self._stop(index)

    def finished(self) -> ModelFinished:
        """Return the whole answer.

        It leaves out a thought with characters that no database can store: changing it would break its signature.
        """
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        kept = [block for block in blocks if clean_text(str(block.get("thinking", ""))) == block.get("thinking", "")]
        return ModelFinished(kept, self.stop_reason, self.model, self.usage)

    def _count(self, usage: Any) -> None:
        # The numbers are cumulative, so the last one is right.
        if isinstance(usage, dict):
            self.usage |= {name: usage[name] for name in USAGE if isinstance(usage.get(name), int)}

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Event]:
        self._blocks[index] = block
        self._open.add(index)
        self.begun = True
        match block:
            case {"type": "text"}:
                yield TextStarted(f"text-{index}")
                if block.setdefault("text", ""):
                    yield TextDelta(f"text-{index}", block["text"])
            case {"type": "thinking"}:
                yield ReasoningStarted(f"thinking-{index}")
                if block.setdefault("thinking", ""):
                    yield ReasoningDelta(f"thinking-{index}", block["thinking"])
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                yield ToolInputStarted(call_id, name)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Event]:
        block = self._blocks[index]
        match delta:
            case {"type": "text_delta", "text": str(text)} if block.get("type") == "text":
                block["text"] += text
                yield TextDelta(f"text-{index}", text)
            case {"type": "thinking_delta", "thinking": str(text)} if block.get("type") == "thinking":
                block["thinking"] += text
                yield ReasoningDelta(f"thinking-{index}", text)
            case {"type": "signature_delta", "signature": str(signature)}:
                block["signature"] = block.get("signature", "") + signature
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or []), citation]
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._json.setdefault(index, []).append(text)
                if text and block.get("type") == "tool_use":
                    yield ToolInputDelta(block.get("id", ""), text)

    def _stop(self, index: int) -> Iterator[Event]:
        block = self._blocks[index]
        self._open.discard(index)
        text = "".join(self._json.pop(index, []))
        if text or block.get("type") == "tool_use":
            block["input"] = _input(text, block.get("input"))
        match block:
            case {"type": "text"}:
                yield TextEnded(f"text-{index}")
            case {"type": "thinking"}:
                yield ReasoningEnded(f"thinking-{index}")
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                yield ToolInputReady(call_id, name, block["input"])


def _input(text: str, given: Any) -> dict[str, Any]:
    """Return a call's input from its JSON text.

    Text that is no JSON object within bounds can neither be stored nor be sent back, so it is wrapped in an object that no
    tool accepts.
    """
    try:
        value = parse(text) if text else given or {}
    except NotCanonical as error:
        return {"unreadable": text[:1000], "why": str(error)}
    return value if isinstance(value, dict) else {"unreadable": text[:1000], "why": "not an object"}
