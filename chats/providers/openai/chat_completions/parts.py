"""The content of a message while it arrives: a text, or on some servers a list of parts, such as Mistral's thoughts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chats.providers.openai.answer import Malformed

CONTENT = "content"
TEXTS = ("text", "output_text")
THOUGHTS = ("thinking", "reasoning")
#: Where a part has its thoughts: a text, or a list of parts of its own.
THOUGHTS_IN = ("thinking", "reasoning", "summary", "content", "text")
#: Stands for a part of another type, which is kept and not shown.
NOT_SHOWN = "(This answer has a part that cannot be shown here: %s.)"
LONGEST_TYPE = 60


@dataclass(frozen=True, slots=True)
class ShownPart:
    """The readable text of a part. If it is `alone`, the next text does not continue it."""

    text: str
    thought: bool = False
    refusal: bool = False
    alone: bool = False


def parts_of(content: Any) -> Iterator[ShownPart]:
    """Yield the readable parts of a piece of content. Raise Malformed if it is neither text nor parts."""
    if isinstance(content, str):
        yield ShownPart(content)
    elif isinstance(content, dict):
        yield _part(content)
    elif isinstance(content, list):
        yield from (
            ShownPart(part) if isinstance(part, str) else _part(part)
            for part in content
        )
    elif content is not None:
        raise Malformed


def listed(content: Any) -> list[Any]:
    """Return a piece of content as a list of parts, without empty texts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return (
        [part for part in content if part != ""]
        if isinstance(content, list)
        else [content]
    )


def _part(part: Any) -> ShownPart:
    match part:
        case {"type": kind} if kind in THOUGHTS:
            return ShownPart(_thoughts(part), thought=True)
        case {"type": "refusal", "refusal": str(text)}:
            return ShownPart(text, refusal=True)
        case {"type": kind, "text": str(text)} if kind in TEXTS:
            return ShownPart(text)
        case _:
            return ShownPart(_named(part), alone=True)


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
    return NOT_SHOWN % (
        kind[:LONGEST_TYPE] if isinstance(kind, str) and kind else "without a type"
    )
