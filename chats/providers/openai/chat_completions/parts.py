"""The content of a message while it arrives: a text, or with some servers a list of parts, such as Mistral's thoughts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chats.providers.openai.answer import Malformed

CONTENT = "content"
TEXTS, THOUGHTS = ("text", "output_text"), ("thinking", "reasoning")
#: Where a part has its thoughts: a text, or a list of parts of its own.
THOUGHTS_IN = ("thinking", "reasoning", "summary", "content", "text")
#: What stands for a part of another type, which is kept and not shown.
NOT_SHOWN = "(This answer has a part that cannot be shown here: %s.)"
LONGEST_TYPE = 60


@dataclass(frozen=True, slots=True)
class Part:
    """What people read of a part. One that is `alone` is not continued by the next text."""

    text: str
    thought: bool = False
    refusal: bool = False
    alone: bool = False


def parts_of(content: Any) -> Iterator[Part]:
    """Yield what people read of a piece of content. Malformed for what is neither text nor parts."""
    if isinstance(content, str):
        yield Part(content)
    elif isinstance(content, dict):
        yield _part(content)
    elif isinstance(content, list):
        yield from (Part(part) if isinstance(part, str) else _part(part) for part in content)
    elif content is not None:
        raise Malformed


def listed(content: Any) -> list[Any]:
    """Return a piece of content as a list of parts, without empty texts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [part for part in content if part != ""] if isinstance(content, list) else [content]


def _part(part: Any) -> Part:
    match part:
        case {"type": kind} if kind in THOUGHTS:
            return Part(_thoughts(part), thought=True)
        case {"type": "refusal", "refusal": str(text)}:
            return Part(text, refusal=True)
        case {"type": kind, "text": str(text)} if kind in TEXTS:
            return Part(text)
        case _:
            return Part(_named(part), alone=True)


def _thoughts(part: Mapping[str, Any]) -> str:
    inner = next((part[name] for name in THOUGHTS_IN if part.get(name)), "")
    pieces = inner if isinstance(inner, list) else [inner]
    return "".join(map(_thought, pieces))


def _thought(piece: Any) -> str:
    match piece:
        case str(text) | {"text": str(text)}:
            return text
        case _:
            return _named(piece)


def _named(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return NOT_SHOWN % (kind[:LONGEST_TYPE] if isinstance(kind, str) and kind else "without a type")
