"""Pictures and documents in messages to a model, and text placeholders for a model that does not accept them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.provider import ModelMessage

KINDS = frozenset({"image", "document"})


def count_files(messages: Sequence[ModelMessage]) -> int:
    """Return the number of files in these messages, including those in tool results."""
    return sum(_count(block) for message in messages for block in message.content)


def in_words(message: ModelMessage) -> ModelMessage:
    """Return the message with text placeholders for its files."""
    if not count_files([message]):
        return message
    return replace(message, content=[_in_words(block) for block in message.content])


def _inside(block: JsonMapping) -> list[JsonMapping]:
    """Return the blocks in the result of a tool; [] for other blocks, and for results that are text."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return content if isinstance(content, list) else []


def _count(block: JsonMapping) -> int:
    return int(block.get("type") in KINDS) + sum(map(_count, _inside(block)))


def _in_words(block: JsonMapping) -> JsonDict:
    if inside := _inside(block):
        return {**block, "content": [_in_words(item) for item in inside]}
    if block.get("type") not in KINDS:
        return dict(block)
    name = block.get("title") or (
        "a picture" if block["type"] == "image" else "a document"
    )
    text = f"(Left out, because this model does not take it: {name}. Say so if it is asked about.)"
    return {"type": "text", "text": text}
