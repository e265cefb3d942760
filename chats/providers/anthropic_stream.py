"""Anthropic's Messages stream put together: what can be shown at once, and the blocks exactly as returned. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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


class Answer:
    """One answer as it arrives. `begun` once anything of it was shown; `complete` once the API said why it ended.

    Blocks and deltas of unknown types are kept or passed over: the API adds new ones.
    """

    def __init__(self) -> None:
        self.begun = False
        self.stop_reason = ""
        self.model = ""
        self.usage: dict[str, int] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, list[str]] = {}

    @property
    def complete(self) -> bool:
        return bool(self.stop_reason)

    def take(self, raw: dict[str, Any]) -> Iterator[Event]:
        """What one raw event has to show."""
        match raw.get("type"):
            case "message_start":
                self.model = raw["message"].get("model", "")
                self._count(raw["message"].get("usage"))
            case "content_block_start":
                yield from self._start(raw["index"], dict(raw["content_block"]))
            case "content_block_delta":
                yield from self._delta(raw["index"], raw["delta"])
            case "content_block_stop":
                yield from self._stop(raw["index"])
            case "message_delta":
                self.stop_reason = raw["delta"].get("stop_reason") or self.stop_reason
                self._count(raw.get("usage"))

    def finished(self) -> ModelFinished:
        """The whole answer."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return ModelFinished(blocks, self.stop_reason, self.model, self.usage)

    def _count(self, usage: Any) -> None:
        # Cumulative: the last number is the right one.
        if isinstance(usage, dict):
            self.usage |= {name: usage[name] for name in USAGE if isinstance(usage.get(name), int)}

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Event]:
        self._blocks[index] = block
        self.begun = True
        match block.get("type"):
            case "text":
                yield TextStarted(f"text-{index}")
                if block["text"]:
                    yield TextDelta(f"text-{index}", block["text"])
            case "thinking":
                yield ReasoningStarted(f"thinking-{index}")
            case "tool_use":
                self._json[index] = []
                yield ToolInputStarted(block["id"], block["name"])

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Event]:
        block = self._blocks[index]
        match delta.get("type"):
            case "text_delta":
                block["text"] += delta["text"]
                yield TextDelta(f"text-{index}", delta["text"])
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
                yield ReasoningDelta(f"thinking-{index}", delta["thinking"])
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta["signature"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]
            case "input_json_delta" if index in self._json:
                self._json[index].append(delta["partial_json"])
                yield ToolInputDelta(block["id"], delta["partial_json"])

    def _stop(self, index: int) -> Iterator[Event]:
        block = self._blocks[index]
        match block.get("type"):
            case "text":
                yield TextEnded(f"text-{index}")
            case "thinking":
                yield ReasoningEnded(f"thinking-{index}")
            case "tool_use":
                block["input"] = _input("".join(self._json.pop(index, [])), block.get("input"))
                yield ToolInputReady(block["id"], block["name"], block["input"])


def _input(text: str, given: Any) -> dict[str, Any]:
    """The call's input. What is no JSON object cannot be sent back to the API, so it is wrapped, and no tool will take it."""
    try:
        value = json.loads(text) if text else given or {}
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"unreadable": str(value)[:1000]}
